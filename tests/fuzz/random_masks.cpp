#include "fuzz/random_masks.h"

#include <algorithm>

namespace tessera::testing {

namespace {

class Grammar {
 public:
  Grammar(Args& args, std::uint64_t seed) : a_(args), random_(seed) {
    for (int t = 0; t < 2; ++t) {
      std::vector<std::int32_t> values;
      const std::int64_t size = random_.between(1, 90), most = random_.between(0, 20);
      for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<std::int32_t>(random_.between(-most, most)));
      if (random_.below(2)) std::sort(values.begin(), values.end());
      tables_.push_back(table(std::move(values)));
    }
    std::vector<std::int32_t> bits;
    const std::int64_t rows = random_.between(1, 12), columns = random_.between(1, 12);
    for (std::int64_t i = 0; i < rows * columns; ++i) bits.push_back(static_cast<std::int32_t>(random_.below(2)));
    bits_ = mask::TableData::make(std::move(bits), {rows, columns});
    std::vector<float> floats;
    for (int i = 0; i < 40; ++i) floats.push_back(static_cast<float>(random_.between(-8, 8)) / 4);
    floats_ = mask::TableData::make(std::move(floats), {40});
  }

  Expr boolean(int depth) {
    if (depth > 0) switch (random_.below(6)) {
        case 0:
        case 1: {
          const Expr x = boolean(depth - 1);
          return x & boolean(depth - 1);
        }
        case 2:
        case 3: {
          const Expr x = boolean(depth - 1);
          return x | boolean(depth - 1);
        }
        case 4: return !boolean(depth - 1);
        default: {
          const Expr c = boolean(depth - 1), x = boolean(depth - 1);
          return where(c, x, boolean(depth - 1));
        }
      }
    return comparison();
  }

  // Linear in k on one side, any function of q on the other.
  Expr solvable(int depth) {
    if (depth > 0) switch (random_.below(5)) {
        case 0:
        case 1:
        case 2: {
          const Expr x = solvable(depth - 1);
          return x & solvable(depth - 1);
        }
        case 3: {
          const Expr x = solvable(depth - 1);
          return x | solvable(depth - 1);
        }
        default: return !solvable(depth - 1);
      }
    static constexpr ir::OpCode kOps[] = {ir::OpCode::lt, ir::OpCode::le, ir::OpCode::gt, ir::OpCode::ge,
                                          ir::OpCode::eq};
    const ir::OpCode op = kOps[random_.below(5)];
    const Expr left = of_key(2), right = of_query(2);
    switch (random_.below(4)) {
      case 0: return apply(op, abs(left - right), number(left, double(random_.between(0, 60))));
      case 1: return apply(op, max(left, right), right + double(random_.between(-20, 40)));
      default: return apply(op, left, right);
    }
  }

 private:
  Expr comparison() {
    static constexpr ir::OpCode kOps[] = {ir::OpCode::lt, ir::OpCode::le, ir::OpCode::gt,
                                          ir::OpCode::ge, ir::OpCode::eq, ir::OpCode::ne};
    const ir::OpCode op = kOps[random_.below(6)];
    switch (random_.below(12)) {
      case 0: {
        const Expr row = integer(1);
        return a_.read("bits", bits_, {row - 1.0, integer(1) - 1.0}) != 0;
      }
      case 1: {
        const Expr x = a_.read("weights", floats_, {integer(1) + 1.0});
        return apply(op, x + 0.5, a_.read("weights", floats_, {integer(1) - 1.0}));
      }
      case 2:
        return apply(op, integer(2) % double(random_.between(1, 12)), number(a_.q, double(random_.between(0, 8))));
      case 3: return apply(op, abs(integer(2)), number(a_.q, double(random_.between(0, 40))));
      default: {
        const Expr x = integer(2);
        return apply(op, x, random_.below(2) ? integer(2) : number(x, double(random_.between(-40, 90))));
      }
    }
  }

  Expr integer(int depth) {
    if (depth == 0) switch (random_.below(12)) {
        case 0: return number(a_.q, double(random_.between(-20, 60)));
        case 1: return a_.head;
        case 2: return a_.key_length - a_.query_length;
        case 3: return a_.scalar("width", double(random_.between(0, 30)));
        case 4:
        case 5:
        case 6: return a_.q;
        case 7: return a_.q - a_.k;
        default: return a_.k;
      }
    const Expr x = integer(depth - 1);
    switch (random_.below(14)) {
      case 0:
      case 1: return x + integer(depth - 1);
      case 2:
      case 3: return x - integer(depth - 1);
      case 4: return x * double(random_.between(-4, 6));
      case 5:
      case 6: return x / double(random_.between(1, 16));
      case 7:
      case 8: return x % double(random_.between(1, 16));
      case 9: return min(x, integer(depth - 1));
      case 10: return max(x, integer(depth - 1));
      case 11: return abs(x);
      case 12: {
        const Expr c = comparison_of(x);
        return where(c, x, integer(depth - 1));
      }
      default: {
        const int t = int(random_.below(2));
        return a_.read(t ? "ids" : "other", tables_[std::size_t(t)], {x - double(random_.between(1, 9))});
      }
    }
  }
  Expr comparison_of(Expr x) { return x < double(random_.between(-10, 60)); }

  Expr of_key(int depth) {
    Expr x = a_.k;
    for (int i = 0; i < depth; ++i) switch (random_.below(6)) {
        case 0: x = x + double(random_.between(-30, 30)); break;
        case 1: x = x / double(random_.between(1, 20)); break;
        case 2: x = x * double(random_.between(1, 3)); break;
        case 3: x = min(x, number(x, double(random_.between(0, 100)))); break;
        case 4: x = 0.0 - x; break;
        default: break;
      }
    return x;
  }
  Expr of_query(int depth) {
    Expr x = random_.below(5) ? a_.q : a_.q + (a_.key_length - a_.query_length);
    for (int i = 0; i < depth; ++i) switch (random_.below(8)) {
        case 0: x = x + double(random_.between(-30, 30)); break;
        case 1: x = x / double(random_.between(1, 20)); break;
        case 2: x = x * double(random_.between(-2, 3)); break;
        case 3: x = x % double(random_.between(5, 90)); break;
        case 4: x = abs(x); break;
        case 5: x = max(x, number(x, double(random_.between(0, 100)))); break;
        case 6:
          x = where(a_.head == double(random_.below(2)), x, x - a_.scalar("width", double(random_.between(-10, 30))));
          break;
        default: break;
      }
    return x;
  }

  Args& a_;
  Random random_;
  std::vector<Table> tables_;
  Table bits_, floats_;
};

}  // namespace

mask::Pointwise random_mask(std::uint64_t seed, int depth) {
  return predicate("random", [&](Args& args) { return Grammar(args, seed).boolean(depth); });
}

mask::Pointwise random_closed_form(std::uint64_t seed) {
  return predicate("random", [&](Args& args) { return Grammar(args, seed).solvable(2); });
}

}  // namespace tessera::testing
