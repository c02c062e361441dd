#include <doctest/doctest.h>

#include "backend/emit/kernels.h"

namespace tessera::test {

using backend::Slot;
using backend::SlotKind;

TEST_CASE("a fused elementwise kernel is one pass over memory in 16-byte pieces") {
  const backend::Emitted e = emitted(fused_elementwise());
  const std::string& ptx = e.artifact.ptx;
  CHECK(count(ptx, "ld.global.nc.v4.b32") == 4);  // two tensors, two rows a thread
  CHECK(count(ptx, "st.global.v4.b32") == 2);
  CHECK(count(ptx, "fma.rn.bf16") == 0);
  CHECK(count(ptx, "fma.rn.ftz.f32") == 16);    // the wide form and the form for odd strides compute once, after both
  CHECK(count(ptx, "cvt.rn.bf16x2.f32") == 8);  // one a pair
  CHECK(count(ptx, ".local") == 0);
  CHECK(e.artifact.shared_bytes == 0);
  CHECK(e.artifact.threads == 128);
  assembles(e, 128);
}

TEST_CASE("kernel parameters are what the kernel reads, in a fixed order") {
  const backend::Artifact artifact = emitted(fused_elementwise()).artifact;
  std::vector<Slot> expected;
  for (int param : {0, 1, 2}) {
    expected.push_back({.kind = SlotKind::pointer, .param = param});
    for (int dim : {0, 1, 2, 3}) expected.push_back({.kind = SlotKind::stride, .param = param, .dim = dim});
    for (int dim : {0, 1}) expected.push_back({.kind = SlotKind::group, .param = param, .dim = dim});
  }
  expected.push_back({.kind = SlotKind::length, .axis = ir::Axis::named("Query")});
  expected.push_back({.kind = SlotKind::length, .axis = ir::Axis::named("Head")});
  CHECK(artifact.slots == expected);
  CHECK(artifact.entry == "fused");
  CHECK(artifact.target == "sm_90a");
  CHECK(artifact.grid == std::vector<ir::Dim>{{ir::Axis::named("Query"), 32},
                                              {ir::Axis::named("Head"), 1},
                                              {ir::Axis::named("Batch"), 1}});
}

TEST_CASE("positions compare by one difference for all registers and one constant each") {
  const backend::Emitted e = emitted(band());
  const std::string& ptx = e.artifact.ptx;
  // The register constants of 64 elements differ in 18 ways; each of the two compares costs at most that.
  CHECK(count(ptx, "setp.gt.s32") + count(ptx, "setp.lt.s32") + count(ptx, "setp.ge.s32") + count(ptx, "setp.le.s32") <=
        2 * 18);
  CHECK(count(ptx, "sub.s32") + count(ptx, "add.s32") <= 18 + 8);
  CHECK(count(ptx, "rem.") == 0);
  assembles(e, 128);
}

TEST_CASE("of an interval's two ends a row's words are made and combined, and one bit is tested an element") {
  const auto all = [](const backend::Emitted& e, std::initializer_list<const char*> texts) {
    int n = 0;
    for (const char* text : texts) n += count(e.artifact.ptx, text);
    return n;
  };
  const auto compares = [&](const backend::Emitted& e) {
    return all(e, {"setp.gt.s32", "setp.lt.s32", "setp.ge.s32", "setp.le.s32"});
  };
  const auto tests = [&](const backend::Emitted& e) { return all(e, {"setp.ne.b32", "setp.eq.b32"}); };
  const auto shifts = [&](const backend::Emitted& e) { return all(e, {"begin inline asm\n\tshl.b32"}); };
  const int elements = 64;  // of a thread: 32 keys of two rows
  for (const char* code : {"ge", "lt", "le", "gt"}) {
    CAPTURE(std::string(code));
    const backend::Emitted both = emitted(interval(true, code)), one = emitted(interval(false, code));
    CHECK(shifts(both) == shifts(one) + 4);                 // a word for each row and each end
    CHECK(compares(both) <= compares(one) - elements / 2);  // those of keys 8 apart are one for both rows
    CHECK(tests(both) >= tests(one) + elements - 2);        // of the last bit, the sign
    assembles(both, 128);
  }
  for (const char* code : {"lt", "le", "gt", "ge"}) {
    const backend::Emitted e = emitted(near(code));
    CHECK(shifts(e) == 5);  // of each row both sides of the distance; the first keys are the same for all rows
    CHECK(all(e, {"abs.s32"}) == 0);
    CHECK(compares(e) <= compares(emitted(interval(true))));
    assembles(e, 128);
  }
}

TEST_CASE("the same kernel gives the same text") {
  CHECK(emitted(fused_elementwise()).artifact.ptx == emitted(fused_elementwise()).artifact.ptx);
}

}  // namespace tessera::test
