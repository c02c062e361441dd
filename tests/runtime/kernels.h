// Small hand-written kernels for tests of the runtime.
#pragma once

namespace tessera::runtime::test {

// add(data: i32*, count, value): data[i] += value. Any block size.
inline constexpr const char* add_ptx = R"(.version 8.0
.target sm_90a
.address_size 64

.visible .entry add(.param .u64 data, .param .u32 count, .param .u32 value) {
  .reg .pred %p;
  .reg .b32 %r<7>;
  .reg .b64 %a<4>;
  ld.param.u64 %a1, [data];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r6, [value];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra done;
  mul.wide.u32 %a2, %r5, 4;
  add.u64 %a3, %a1, %a2;
  ld.global.u32 %r4, [%a3];
  add.u32 %r4, %r4, %r6;
  st.global.u32 [%a3], %r4;
done:
  ret;
}
)";

// copy_box(map, out, column, row, bytes): one two-dimensional bulk tensor copy into dynamic shared memory, then shared
// memory as it lies to `out`. 128 threads.
inline constexpr const char* copy_box_ptx = R"(.version 8.0
.target sm_90a
.address_size 64

.extern .shared .align 1024 .b8 tile[];

.visible .entry copy_box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 column, .param .u32 row,
                         .param .u32 bytes) {
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %a<6>;
  .shared .align 8 .b64 full;
  ld.param.u64 %a1, [out];
  ld.param.u32 %r1, [column];
  ld.param.u32 %r2, [row];
  ld.param.u32 %r3, [bytes];
  mov.b64 %a2, map;
  cvta.param.u64 %a3, %a2;
  mov.u32 %r4, %tid.x;
  mov.u32 %r5, tile;
  mov.u32 %r6, full;
  setp.ne.u32 %p, %r4, 0;
  @%p bra ready;
  mbarrier.init.shared::cta.b64 [%r6], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], %r3;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%a3, {%r1, %r2}], [%r6];
ready:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%r6], 0;
  @!%p bra wait;
  shl.b32 %r7, %r4, 2;
copy:
  setp.ge.u32 %p, %r7, %r3;
  @%p bra done;
  add.u32 %r8, %r5, %r7;
  ld.shared.u32 %r9, [%r8];
  cvt.u64.u32 %a4, %r7;
  add.u64 %a5, %a1, %a4;
  st.global.u32 [%a5], %r9;
  add.u32 %r7, %r7, 512;
  bra copy;
done:
  ret;
}
)";

}  // namespace tessera::runtime::test
