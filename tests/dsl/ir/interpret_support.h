// What the interpreter's tests share: host tensors with fenced memory, and attention in fp64 to compare with.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include <tessera/dsl/ir/interpret.h>

namespace tessera::ir::test {

inline Axis axis(const char* name) { return Axis::named(name); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A tensor [batch, head, token, column] inside a larger array. All that is not the tensor holds NaN, and must at the
// end.
class Tensor {
 public:
  // token_major: memory is [batch, token, head, column], as projections leave it.
  Tensor(DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t columns,
         bool token_major = false)
      : dtype_(dtype), shape_{batch, heads, tokens, columns} {
    const std::int64_t row =
        columns + 3;  // padding after each row, and guard rows after each head and around everything
    const std::int64_t per_token = token_major ? row * heads : row;
    const std::int64_t per_head = token_major ? row : row * (tokens + 2);
    const std::int64_t per_batch = token_major ? per_token * (tokens + 2) : per_head * heads;
    strides_ = {per_batch, per_head, per_token, 1};
    offset_ = 2 * per_token;
    bytes_.resize(static_cast<std::size_t>((offset_ + per_batch * batch + 2 * per_token) * bytes_of(dtype)));
    for (std::int64_t i = 0; i < size(); ++i) store_element(bytes_.data(), dtype, i, std::nanf(""));
  }

  View view(std::size_t leading = 4) {  // the last `leading` dims
    View view{bytes_.data() + offset_ * bytes_of(dtype_), dtype_, shape_, strides_, Memory::host};
    view.shape.erase(view.shape.begin(), view.shape.end() - static_cast<std::ptrdiff_t>(leading));
    view.strides.erase(view.strides.begin(), view.strides.end() - static_cast<std::ptrdiff_t>(leading));
    return view;
  }
  // Without the column dim, for tensors of one column.
  View rows() {
    View view = this->view();
    view.shape.pop_back();
    view.strides.pop_back();
    return view;
  }

  float at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return load_element(bytes_.data(), dtype_, index(b, h, i, c));
  }
  void set(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c, float x) {
    store_element(bytes_.data(), dtype_, index(b, h, i, c), x);
  }

  // Numbers in [-1, 1) that depend on nothing but the seed.
  Tensor& randomise(std::uint32_t seed) {
    each([&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
      seed = seed * 1664525u + 1013904223u;
      set(b, h, i, c, static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f);
    });
    return *this;
  }

  bool outside_untouched() const {
    std::vector<bool> inside(static_cast<std::size_t>(size()), false);
    each([&](auto b, auto h, auto i, auto c) { inside[static_cast<std::size_t>(index(b, h, i, c))] = true; });
    for (std::int64_t i = 0; i < size(); ++i) {
      if (!inside[static_cast<std::size_t>(i)] && !std::isnan(load_element(bytes_.data(), dtype_, i))) return false;
    }
    return true;
  }

  std::int64_t batch() const { return shape_[0]; }
  std::int64_t heads() const { return shape_[1]; }
  std::int64_t tokens() const { return shape_[2]; }
  std::int64_t columns() const { return shape_[3]; }
  const std::vector<char>& bytes() const { return bytes_; }

  template <class F>
  void each(F f) const {
    for (std::int64_t b = 0; b < shape_[0]; ++b) {
      for (std::int64_t h = 0; h < shape_[1]; ++h) {
        for (std::int64_t i = 0; i < shape_[2]; ++i) {
          for (std::int64_t c = 0; c < shape_[3]; ++c) f(b, h, i, c);
        }
      }
    }
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()) / bytes_of(dtype_); }
  std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return offset_ + b * strides_[0] + h * strides_[1] + i * strides_[2] + c * strides_[3];
  }

  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t offset_ = 0;
  std::vector<char> bytes_;
};

struct Errors {
  double output = 0, lse = 0;
  bool empty_rows_right = true;  // 0 and -inf, exactly
};

// Largest errors of `o` and `lse` against attention in fp64. live(b, h, q, k): may q attend to k.
inline Errors attention_errors(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o, const Tensor& lse,
                               double scale, const std::function<bool(int, int, int, int)>& live) {
  Errors errors;
  const std::int64_t group = k.heads() ? q.heads() / k.heads() : 1;
  std::vector<double> scores(static_cast<std::size_t>(k.tokens())), sums(static_cast<std::size_t>(v.columns()));
  for (int b = 0; b < q.batch(); ++b) {
    for (int h = 0; h < q.heads(); ++h) {
      for (int i = 0; i < q.tokens(); ++i) {
        double top = -kInfinity, total = 0;
        for (int j = 0; j < k.tokens(); ++j) {
          double dot = 0;
          for (int c = 0; c < q.columns(); ++c) dot += static_cast<double>(q.at(b, h, i, c)) * k.at(b, h / group, j, c);
          scores[static_cast<std::size_t>(j)] = live(b, h, i, j) ? dot * scale : -kInfinity;
          top = std::max(top, scores[static_cast<std::size_t>(j)]);
        }
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int j = 0; j < k.tokens() && top > -kInfinity; ++j) {
          const double p = std::exp(scores[static_cast<std::size_t>(j)] - top);
          if (p == 0) continue;
          total += p;
          for (int c = 0; c < v.columns(); ++c) sums[static_cast<std::size_t>(c)] += p * v.at(b, h / group, j, c);
        }
        if (total == 0) {
          errors.empty_rows_right = errors.empty_rows_right && lse.at(b, h, i, 0) == -kInfinity;
          for (int c = 0; c < v.columns(); ++c)
            errors.empty_rows_right = errors.empty_rows_right && o.at(b, h, i, c) == 0;
          continue;
        }
        const double lse_error = std::fabs(lse.at(b, h, i, 0) - (top + std::log(total)));
        errors.lse = lse_error <= errors.lse ? errors.lse : lse_error;  // NaN sticks
        for (int c = 0; c < v.columns(); ++c) {
          const double error = std::fabs(o.at(b, h, i, c) - sums[static_cast<std::size_t>(c)] / total);
          errors.output = error <= errors.output ? errors.output : error;
        }
      }
    }
  }
  return errors;
}

}  // namespace tessera::ir::test
