#include <doctest/doctest.h>

#include <functional>

#include <tessera/runtime/tensor_map.h>

using namespace tessera::runtime;

namespace {

// Keys of shape [Batch 2, Key 1000, Head 8, Depth 128] in bf16, read in boxes of 64 columns and 128 keys.
TensorView keys() {
  TensorView view;
  view.base = 1 << 20;
  view.rank = 4;
  view.extents = {128, 1000, 8, 2};
  view.byte_strides = {0, 8 * 128 * 2, 128 * 2, 1000 * 8 * 128 * 2};
  view.box = {64, 128, 1, 1};
  return view;
}

std::string refusal(const std::function<void(TensorView&)>& change) {
  TensorView view = keys();
  change(view);
  try {
    check(view);
  } catch (const InvalidView& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a plain view is accepted, and so are the limits themselves") {
  CHECK(refusal([](TensorView&) {}) == "accepted");
  CHECK(refusal([](TensorView& v) { v.byte_strides[2] = 0; }) == "accepted");
  CHECK(refusal([](TensorView& v) { v.byte_strides[3] = (std::int64_t{1} << 40) - 16; }) == "accepted");
  CHECK(refusal([](TensorView& v) { v.extents[1] = std::int64_t{1} << 32; }) == "accepted");
  CHECK(refusal([](TensorView& v) { v.box[1] = 256; }) == "accepted");
  CHECK(refusal([](TensorView& v) { v.box[0] = 8; }) == "accepted");
  CHECK(refusal([](TensorView& v) {
          v.swizzle = Swizzle::none;
          v.box[0] = 256;
        }) == "accepted");
}

TEST_CASE("misaligned memory is refused with the numbers") {
  CHECK(refusal([](TensorView& v) { v.base += 6; }) ==
        "the address is 6 bytes past a multiple of 16; note: start the view at a multiple of 8 elements of a 16-byte "
        "aligned allocation");
  CHECK(refusal([](TensorView& v) { v.byte_strides[1] = 136; }) ==
        "axis 1 has a stride of 136 bytes, not a multiple of 16; note: pad its rows to a multiple of 8 elements");
  CHECK(refusal([](TensorView& v) {
          v.element = ElementType::f32;
          v.box[0] = 32;
          v.byte_strides[1] = 520;
        }) == "axis 1 has a stride of 520 bytes, not a multiple of 16; note: pad its rows to a multiple of 4 elements");
  CHECK(refusal([](TensorView& v) { v.byte_strides[2] = -256; }) ==
        "axis 2 has a stride of -256 bytes, not between 0 and 2^40; note: copy the tensor in forward order");
  CHECK(refusal([](TensorView& v) { v.byte_strides[3] = std::int64_t{1} << 40; }) ==
        "axis 3 has a stride of 1099511627776 bytes, not between 0 and 2^40; note: split the tensor");
}

TEST_CASE("an axis of one element may have any stride") {
  CHECK(refusal([](TensorView& v) {
          v.extents[3] = 1;
          v.byte_strides[3] = -7;
        }) == "accepted");
}

TEST_CASE("extents, boxes and ranks beyond the hardware are refused with the numbers") {
  CHECK(refusal([](TensorView& v) { v.extents[1] = -1; }) ==
        "axis 1 has -1 elements, not between 0 and 2^32; note: split the tensor");
  CHECK(refusal([](TensorView& v) { v.extents[1] = (std::int64_t{1} << 32) + 1; }) ==
        "axis 1 has 4294967297 elements, not between 0 and 2^32; note: split the tensor");
  CHECK(refusal([](TensorView& v) { v.box[1] = 257; }) ==
        "the box has 257 elements on axis 1, not between 1 and 256; note: use a smaller tile");
  CHECK(refusal([](TensorView& v) { v.box[3] = 0; }) ==
        "the box has 0 elements on axis 3, not between 1 and 256; note: use a smaller tile");
  CHECK(refusal([](TensorView& v) { v.box[0] = 4; }) ==
        "a row of the box is 8 bytes, not a multiple of 16; note: use a wider tile");
  CHECK(refusal([](TensorView& v) { v.box[0] = 128; }) ==
        "a row of the box is 256 bytes, more than the 128 that a swizzle spans; note: use several boxes");
  CHECK(refusal([](TensorView& v) { v.rank = 0; }) ==
        "the view has 0 axes, not between 1 and 5; note: merge or split axes");
  CHECK(refusal([](TensorView& v) { v.rank = 6; }) ==
        "the view has 6 axes, not between 1 and 5; note: merge or split axes");
}

TEST_CASE("a view without elements needs no valid memory, but a valid box") {
  CHECK(refusal([](TensorView& v) {
          v.extents[1] = 0;
          v.base = 0;
          v.byte_strides[1] = 7;
        }) == "accepted");
  CHECK(refusal([](TensorView& v) {
          v.extents[3] = 0;
          v.box[1] = 300;
        }) == "the box has 300 elements on axis 1, not between 1 and 256; note: use a smaller tile");
}

TEST_CASE("element sizes") {
  CHECK(bytes_of(ElementType::u8) == 1);
  CHECK(bytes_of(ElementType::f16) == 2);
  CHECK(bytes_of(ElementType::bf16) == 2);
  CHECK(bytes_of(ElementType::f32) == 4);
  CHECK(bytes_of(ElementType::i32) == 4);
}
