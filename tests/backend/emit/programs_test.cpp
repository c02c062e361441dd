// What blocks that take programs, warpgroups that take turns, and factors of one become.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include <tessera/backend/emit/memory_plan.h>
#include <tessera/dsl/ir/rewrite.h>

#include "backend/emit/kernels.h"

namespace tessera::test {

namespace {

struct Shape {
  std::vector<int> roles{2};  // warpgroups of each role that computes
  bool persistent = true, turns = false, scratch = false;
  const char* factor = "scale";
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// A loop over programs, or its body alone.
std::string programs(const Shape& shape, const std::string& suffix, const std::string& body) {
  const std::string head = "    %n$ = programs (%use$ = %c0) {\n      ^(%turn$)\n",
                    tail = "      %next$ = add %use$, 1 : i32\n      yield %next$\n    }\n";
  const std::string text = shape.persistent ? head + body + tail : replaced(body, "%use$", "%c0");
  return replaced(text, "$", suffix);
}

// c = (a b^T) * 0.5, rows of one tile a program; every role computes it, the last to write has written the same.
ir::Kernel products(const Shape& shape) {
  int groups = 0;
  std::string roles, code;
  for (std::size_t i = 0; i < shape.roles.size(); ++i) {
    groups += shape.roles[i];
    const std::string number = std::to_string(i + 1);
    roles += "  role @" + number + " consumer" + number + " x" + std::to_string(shape.roles[i]) + "\n";
    code += "  role @" + number + " {\n    %g" + number + " = group_id : i32\n" +
            programs(shape, "_" + number,
                     std::string("      %row$ = program_id Row : i32\n      %start$ = mul %row$, 64 : i32\n"
                                 "      %av$ = slot %as, %use$ : view<bf16[Row:64, Inner:64]>\n"
                                 "      %bv$ = slot %bs, %use$ : view<bf16[Column:64, Inner:64]>\n"
                                 "      wait %full, %use$\n") +
                         (shape.turns ? "      turn_wait\n" : "") +
                         "      mma_fence\n      %p$ = mma Inner %av$, %bv$ : f32[Row:64, Column:64] #0\n"
                         "      mma_commit\n" +
                         (shape.turns ? "      turn_pass\n" : "") +
                         "      %m$ = mma_wait 0 %p$\n      arrive %empty, %use$\n"
                         "      %max$ = reduce_max Column %m$ : f32[Row:64] #1\n"
                         "      %r$ = " +
                         shape.factor + " %m$, %max$ : f32[Row:64, Column:64] #0\n" +
                         (shape.scratch ? "      %all$ = reduce_max Row %max$ : f32\n"
                                          "      %q$ = add %r$, %all$ : f32[Row:64, Column:64] #0\n"
                                          "      store c(%start$, 0), %q$\n"
                                        : "      store c(%start$, 0), %r$\n")) +
            "  }\n";
  }
  const std::string arrivals = std::to_string(groups);
  return placed("kernel products placed grid(Row:64) threads " + std::to_string(128 * (1 + groups)) +
                " {\n  param a: in bf16[Row, Inner]\n  param b: in bf16[Column, Inner]\n"
                "  param c: out f32[Row, Column]\n  role @0 producer x1\n" +
                roles +
                "  layout #0 {reg 2*Column:1 2*Row:8 8*Column:8 | lane 4*Column:2 8*Row:1 | warp 4*Row:16}\n"
                "  layout #1 {reg 2*Row:8 | lane 4 8*Row:1 | warp 4*Row:16}\n"
                "  %as = alloc : shared<bf16[Row:64, Inner:64] x2>\n"
                "  %bs = alloc : shared<bf16[Column:64, Inner:64] x2>\n"
                "  %full = alloc : barrier<1 x2>\n  %empty = alloc : barrier<" +
                arrivals + " x2>\n  %c0 = constant 0 : i32\n  role @0 {\n" +
                programs(shape, "_0",
                         "      %row$ = program_id Row : i32\n      %start$ = mul %row$, 64 : i32\n"
                         "      wait 1 %empty, %use$\n      expect 16384 %full, %use$\n"
                         "      %as$ = slot %as, %use$ : view<bf16[Row:64, Inner:64]>\n"
                         "      copy a(%as$ ; %full, %use$ ; %start$, 0)\n"
                         "      %bs$ = slot %bs, %use$ : view<bf16[Column:64, Inner:64]>\n"
                         "      copy b(%bs$ ; %full, %use$ ; 0, 0)\n") +
                "  }\n" + code + "}\n");
}

// The integer arithmetic of the emitted LLVM IR, evaluated for a thread.
class Evaluator {
 public:
  explicit Evaluator(const std::string& llvm_ir) {
    std::istringstream lines(llvm_ir);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name = line.find('%'), is = line.find(" = ");
      if (name == 2 && is != std::string::npos) definitions_[line.substr(3, is - 3)] = line.substr(is + 3);
    }
  }

  int value(const std::string& operand, int thread) const {
    if (operand == "true" || operand == "false") return operand == "true";
    if (operand[0] != '%') return std::stoi(operand);
    const std::string& text = definitions_.at(operand.substr(1));
    std::smatch m;
    if (text.find("sreg.tid.x") != std::string::npos) return thread;
    if (std::regex_search(text, m, std::regex(R"(shfl\.sync\.idx\.i32\(i32 -1, i32 ([^,]+), i32 0)")))
      return value(m[1], thread);
    if (std::regex_search(text, m, std::regex(R"(^select i1 ([^,]+), i32 ([^,]+), i32 ([^,\s]+))")))
      return value(value(m[1], thread) ? m[2] : m[3], thread);
    if (std::regex_search(text, m, std::regex(R"(^icmp (?:samesign )?(\w+) i32 ([^,]+), ([^,\s]+))"))) {
      const auto a = static_cast<unsigned>(value(m[2], thread)), b = static_cast<unsigned>(value(m[3], thread));
      return m[1] == "eq" ? a == b : m[1] == "ne" ? a != b : m[1] == "ult" ? a < b : m[1] == "ugt" ? a > b : fail(text);
    }
    if (std::regex_search(text, m, std::regex(R"(^(\w+)(?: nuw| nsw| exact| disjoint)* i32 ([^,]+), ([^,\s]+))"))) {
      const auto a = static_cast<unsigned>(value(m[2], thread)), b = static_cast<unsigned>(value(m[3], thread));
      const std::string op = m[1];
      return static_cast<int>(op == "add"    ? a + b
                              : op == "sub"  ? a - b
                              : op == "and"  ? (a & b)
                              : op == "or"   ? (a | b)
                              : op == "xor"  ? (a ^ b)
                              : op == "shl"  ? a << b
                              : op == "lshr" ? a >> b
                              : op == "mul"  ? a * b
                                             : static_cast<unsigned>(fail(text)));
    }
    return fail(text);
  }

 private:
  static int fail(const std::string& text) { throw std::runtime_error("cannot evaluate " + text); }

  std::map<std::string, std::string> definitions_;
};

// Calls of named barriers in program order: what they do, on which (an expression), for how many threads.
struct Barrier {
  bool arrives;
  std::string id;
  int threads;
};

std::vector<Barrier> named_barriers(const std::string& llvm_ir) {
  std::vector<Barrier> found;
  const std::regex call(
      R"(call void @llvm\.nvvm\.barrier\.cta\.(sync|arrive)\.aligned\.count\(i32 ([^,]+), i32 (\d+)\))");
  for (auto i = std::sregex_iterator(llvm_ir.begin(), llvm_ir.end(), call); i != std::sregex_iterator(); ++i)
    found.push_back({(*i)[1] == "arrive", (*i)[2], std::stoi((*i)[3])});
  return found;
}

// Arrivals of the mbarriers that the kernel sets up, by their offsets in shared memory.
std::map<int, int> mbarriers(const std::string& llvm_ir) {
  std::map<int, int> arrivals;
  const std::regex call(R"(call void @llvm\.nvvm\.mbarrier\.init\.shared\(.*@smem, i32 (\d+)\), i32 (\d+)\))");
  for (auto i = std::sregex_iterator(llvm_ir.begin(), llvm_ir.end(), call); i != std::sregex_iterator(); ++i)
    CHECK(arrivals.emplace(std::stoi((*i)[1]), std::stoi((*i)[2])).second);
  return arrivals;
}

int count_of(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

int slots_of(const backend::Emitted& e, backend::SlotKind kind) {
  return static_cast<int>(std::count_if(e.artifact.slots.begin(), e.artifact.slots.end(),
                                        [&](const backend::Slot& slot) { return slot.kind == kind; }));
}

int groups_of(const Shape& shape) { return std::accumulate(shape.roles.begin(), shape.roles.end(), 0); }

const std::vector<std::vector<int>> kRoles{{1}, {2}, {3}, {1, 1}, {1, 2}, {2, 1}, {1, 1, 1}, {3, 3}};

}  // namespace

TEST_CASE("blocks that take programs make one atomic addition a program, and set the counter back once") {
  for (const std::vector<int>& roles : kRoles) {
    const backend::Emitted e = emitted(products({.roles = roles}));
    const std::string& ptx = e.artifact.ptx;
    CHECK(e.artifact.persistent);
    CHECK(count_of(ptx, R"(\b(atom|red)\.)") == 1);
    CHECK(count_of(ptx, R"(\batom\.global\.add\.u32\s)") == 1);
    CHECK(count_of(ptx, R"(\bst\.volatile\.global\.b32\s+\[[^\]]+\], 0;)") == 1);
    CHECK(slots_of(e, backend::SlotKind::counter) == 1);
    CHECK(slots_of(e, backend::SlotKind::programs) == 1);
    CHECK(count_of(ptx, "%nctaid\\.x") == 1);
  }
}

TEST_CASE("the counter is set back by the addition that is the last of the launch") {
  const std::string ir = emitted(products({})).llvm_ir;
  std::smatch last, before, reset;
  REQUIRE(std::regex_search(ir, last, std::regex(R"(%(\d+) = add i32 %programs, -1\n)")));
  REQUIRE(std::regex_search(ir, before, std::regex(R"(%(\d+) = atomicrmw add ptr addrspace\(1\) %counter, i32 1 )")));
  const std::string compare = "%(\\d+) = icmp eq i32 %" + before[1].str() + ", %" + last[1].str() + "\n";
  REQUIRE(std::regex_search(ir, reset, std::regex(compare)));
  CHECK(count(ir, "br i1 %" + reset[1].str() + ", label %last_taken") == 1);
  CHECK(count_of(ir, R"(last_taken:[^\n]*\n  store volatile i32 0, ptr addrspace\(1\) %counter)") == 1);
}

TEST_CASE("blocks that run one program know nothing of a counter") {
  const backend::Emitted e = emitted(products({.persistent = false}));
  CHECK(!e.artifact.persistent);
  CHECK(count_of(e.artifact.ptx, R"(\b(atom|red)\.)") == 0);
  CHECK(count_of(e.artifact.ptx, R"(\bst\.volatile)") == 0);
  CHECK(count_of(e.artifact.ptx, "%nctaid") == 0);
  CHECK(slots_of(e, backend::SlotKind::counter) == 0);
  CHECK(slots_of(e, backend::SlotKind::programs) == 0);
}

TEST_CASE("the mailbox has its barriers, which all warpgroups that compute release") {
  for (const std::vector<int>& roles : kRoles) {
    const Shape shape{.roles = roles};
    const ir::Kernel kernel = products(shape);
    const backend::MemoryPlan plan = backend::plan_memory(kernel);
    REQUIRE(plan.mailbox);
    std::map<int, int> want;
    for (const std::uint32_t id : plan.barriers)
      for (int s = 0; s < plan.rings.at(id).stages; ++s)
        want[plan.rings.at(id).offset + 8 * s] = plan.rings.at(id).arrivals;
    CHECK(want.size() == 4);
    for (int place = 0; place < backend::MailboxPlan::kPlaces; ++place) {
      want[plan.mailbox->full + 8 * place] = 1;
      want[plan.mailbox->empty + 8 * place] = groups_of(shape);
    }
    CHECK(want.size() == 8);
    CHECK(mbarriers(emitted(kernel).llvm_ir) == want);
    CHECK(mbarriers(emitted(products({.roles = roles, .persistent = false})).llvm_ir).size() == 4);
  }
}

TEST_CASE("the mailbox lies beside everything else") {
  for (bool scratch : {false, true}) {
    const ir::Kernel kernel = products({.roles = {3}, .scratch = scratch});
    const backend::MemoryPlan plan = backend::plan_memory(kernel);
    REQUIRE(plan.mailbox);
    CHECK((plan.scratch_bytes > 0) == scratch);
    std::vector<bool> used(static_cast<std::size_t>(plan.total), false);
    const auto take = [&](int from, int bytes, int alignment) {
      CHECK(from % alignment == 0);
      for (int i = from; i < from + bytes; ++i) {
        REQUIRE(i < plan.total);
        REQUIRE(!used[static_cast<std::size_t>(i)]);
        used[static_cast<std::size_t>(i)] = true;
      }
    };
    for (const auto& [id, ring] : plan.rings) take(ring.offset, ring.stages * ring.stage_bytes, 8);
    take(plan.mailbox->full, 8 * backend::MailboxPlan::kPlaces, 8);
    take(plan.mailbox->empty, 8 * backend::MailboxPlan::kPlaces, 8);
    take(plan.mailbox->words, 4 * backend::MailboxPlan::kPlaces, 4);
    if (scratch) take(plan.scratch, 3 * plan.scratch_bytes, 128);
    CHECK(!backend::plan_memory(products({.persistent = false, .scratch = scratch})).mailbox);
  }
}

TEST_CASE("a warp asks whether any factor is other than one, for `scale` only") {
  const backend::Emitted asks = emitted(products({.factor = "scale"})), plain = emitted(products({.factor = "mul"}));
  CHECK(count(asks.artifact.ptx, "vote.sync.any") == 1);
  CHECK(count(plain.artifact.ptx, "vote.sync") == 0);
  CHECK(count_of(asks.llvm_ir, "= fmul ") == count_of(plain.llvm_ir, "= fmul "));  // no second copy of the products
  CHECK(count_of(plain.llvm_ir, "= fmul ") > 0);
}

TEST_CASE("turns: each warpgroup waits on a barrier of its own, on which the one before it arrives") {
  for (const std::vector<int>& roles : kRoles)
    for (bool persistent : {false, true})
      for (bool scratch : {false, true}) {
        CAPTURE(persistent);
        CAPTURE(scratch);
        const backend::Emitted e =
            emitted(products({.roles = roles, .persistent = persistent, .turns = true, .scratch = scratch}));
        const Evaluator evaluator(e.llvm_ir);
        std::vector<Barrier> turns, others;
        for (const Barrier& b : named_barriers(e.llvm_ir)) (b.threads == 256 ? turns : others).push_back(b);
        REQUIRE(turns.size() == 3 * roles.size());  // of each role: the last group's first arrival, wait, pass
        REQUIRE(others.size() % roles.size() == 0);
        const std::size_t each = others.size() / roles.size();
        CHECK((each > 0) == (scratch || persistent));
        std::set<int> of_turns, of_areas;
        int group = 1;  // of the block; the first copies
        for (std::size_t r = 0; r < roles.size(); ++r) {
          CAPTURE(r);
          const Barrier &first = turns[3 * r], &wait = turns[3 * r + 1], &pass = turns[3 * r + 2];
          CHECK(first.arrives);
          CHECK(!wait.arrives);
          CHECK(pass.arrives);
          const auto at = [&](const std::string& id, int g) { return evaluator.value(id, 128 * (group + g)); };
          for (int g = 0; g < roles[r]; ++g) {
            const int id = at(wait.id, g);
            CHECK(id >= 1);
            CHECK(id <= 15);
            CHECK(of_turns.insert(id).second);
            CHECK(at(pass.id, g) == at(wait.id, (g + 1) % roles[r]));
            for (std::size_t i = r * each; i < (r + 1) * each; ++i) {
              CHECK(!others[i].arrives);
              CHECK(others[i].threads == 128);
              CHECK(at(others[i].id, g) == at(others[r * each].id, g));
              if (i == r * each) CHECK(of_areas.insert(at(others[i].id, g)).second);
            }
          }
          CHECK(at(first.id, roles[r] - 1) == at(wait.id, 0));
          group += roles[r];
        }
        for (int id : of_areas) {
          CHECK(id >= 1);
          CHECK(of_turns.count(id) == 0);
        }
      }
}

TEST_CASE("kernels without turns arrive on no named barrier") {
  for (const Barrier& b : named_barriers(emitted(products({.scratch = true})).llvm_ir)) {
    CHECK(!b.arrives);
    CHECK(b.threads == 128);
  }
}

TEST_CASE("programs, turns and factors assemble") {
  for (const std::vector<int>& roles : kRoles)
    assembles(emitted(products({.roles = roles, .turns = true, .scratch = true})), 128);
}

}  // namespace tessera::test
