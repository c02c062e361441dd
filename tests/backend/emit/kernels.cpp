#include "backend/emit/kernels.h"

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

namespace tessera::test {

ir::Kernel placed(std::string text, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [name, value] : names)
    for (std::size_t at = text.find("$" + name); at != std::string::npos; at = text.find("$" + name, at + value.size()))
      text.replace(at, name.size() + 1, value);
  ir::Kernel kernel = ir::parse(text);
  REQUIRE(ir::verify(kernel) == "");
  REQUIRE(ir::legal(kernel, ir::Stage::placed) == "");
  return kernel;
}

backend::Emitted emitted(const ir::Kernel& kernel, const backend::EmitOptions& options) {
  return backend::emit(kernel, backend::target_named("sm_90a"), options);
}

bool assembles(const backend::Emitted& emitted, int registers_at_most) {
  const Assembly assembly = assemble(emitted.artifact.ptx, emitted.artifact.target);
  if (!assembly.available) {
    MESSAGE("not assembled: there is no ptxas in PATH");
    return false;
  }
  INFO(assembly.log);
  CHECK(assembly.ok);
  CHECK(assembly.spill_bytes == 0);
  CHECK(assembly.warnings.empty());
  CHECK(assembly.registers > 0);
  CHECK(assembly.registers <= registers_at_most);
  return true;
}

ir::Kernel fused_elementwise() {
  return placed(R"(kernel fused placed grid(Query:32, Head:1, Batch:1) threads 128 {
  param q: in bf16[Query, Depth]
  param k: in bf16[Query, Depth]
  param o: out bf16[Query, Depth]
  whole Depth:64
  layout #0 {reg 8*Depth:1 2*Query:16 | lane 8*Depth:8 4*Query:1 | warp 4*Query:4}
  %c0 = constant 0 : i32
  %c32 = constant 32 : i32
  %0 = program_id Query : i32
  %1 = mul %0, %c32 : i32
  %2 = load q(%1, %c0) : bf16[Query:32, Depth:64] #0
  %3 = load k(%1, %c0) : bf16[Query:32, Depth:64] #0
  %4 = cast %2 : f32[Query:32, Depth:64] #0
  %5 = cast %3 : f32[Query:32, Depth:64] #0
  %6 = constant 2 : f32
  %7 = mul %5, %6 : f32[Query:32, Depth:64] #0
  %8 = add %4, %7 : f32[Query:32, Depth:64] #0
  %9 = constant 0 : f32
  %10 = max %8, %9 : f32[Query:32, Depth:64] #0
  %11 = cast %10 : bf16[Query:32, Depth:64] #0
  store o(%1, %c0), %11
})");
}

ir::Kernel row_statistics(int warps_on_columns) {
  const int across = warps_on_columns, down = 4 / across, registers = 256 / 32 / across, rows = 16 / down;
  const auto number = [](int n) { return std::to_string(n); };
  return placed(R"(kernel statistics placed grid(Query:16) threads 128 {
  param x: in f32[Query, Key]
  param y: out f32[Query, Key]
  param p: out f32[Query]
  layout #0 {reg $r*Key:32 $rows*Query:$down | lane 32*Key:1 | warp $across*Key:$step $down*Query:1}
  layout #1 {reg $rows*Query:$down | lane 32 | warp $across $down*Query:1}
  %c0 = constant 0 : i32
  %c16 = constant 16 : i32
  %0 = program_id Query : i32
  %1 = mul %0, %c16 : i32
  %2 = load x(%1, %c0) : f32[Query:16, Key:256] #0
  %3 = reduce_max Key %2 : f32[Query:16] #1
  %4 = sub %2, %3 : f32[Query:16, Key:256] #0
  store y(%1, %c0), %4
  %5 = exp2 %4 : f32[Query:16, Key:256] #0
  %6 = reduce_sum Key %5 : f32[Query:16] #1
  store p(%1), %6
})",
                {{"rows", number(rows)},
                 {"r", number(registers)},
                 {"down", number(down)},
                 {"across", number(across)},
                 {"step", number(256 / across)}});
}

ir::Kernel band() {
  return placed(R"(kernel band placed grid(Query:64) threads 128 {
  param o: out f32[Query, Key]
  param width: scalar i32
  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}
  layout #1 {reg 2*Key:1 2*Query:8 8*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  layout #2 {reg 2*Key:1 8*Key:8 | lane 4*Key:2 8 | warp 4}
  %c0 = constant 0 : i32
  %c64 = constant 64 : i32
  %0 = program_id Query : i32
  %1 = mul %0, %c64 : i32
  %2 = iota Query : i32[Query:64] #0
  %3 = add %2, %1 : i32[Query:64] #0
  %4 = iota Key : i32[Key:64] #2
  %5 = add %4, %1 : i32[Key:64] #2
  %6 = ge %3, %5 : i1[Query:64, Key:64] #1
  %7 = sub %3, %5 : i32[Query:64, Key:64] #1
  %8 = scalar width : i32
  %9 = lt %7, %8 : i1[Query:64, Key:64] #1
  %10 = logical_and %6, %9 : i1[Query:64, Key:64] #1
  %11 = cast %10 : f32[Query:64, Key:64] #1
  store o(%1, %1), %11
})");
}

namespace {

// o = 1 where a predicate of query %3 and key %4, which `body` computes, holds: its last value is `holds`.
ir::Kernel chosen(const std::string& body, const std::string& holds) {
  return placed(R"(kernel chosen placed grid(Query:64) threads 128 {
  param o: out f32[Query, Key]
  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}
  layout #1 {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  layout #2 {reg 2*Key:1 16*Key:8 | lane 4*Key:2 8 | warp 4}
  %0 = program_id Query : i32
  %1 = mul %0, 64 : i32
  %2 = iota Query : i32[Query:64] #0
  %3 = add %2, %1 : i32[Query:64] #0
  %4 = iota Key : i32[Key:128] #2
)" + body + "  %10 = select " +
                holds +
                R"(, 1, 0 : f32[Query:64, Key:128] #1
  store o(%1, 0), %10
})");
}

}  // namespace

ir::Kernel interval(bool both_ends, const std::string& code) {
  const std::string one = "  %5 = " + code + " %4, %3 : i1[Query:64, Key:128] #1\n";
  if (!both_ends) return chosen(one, "%5");
  return chosen(one + R"(  %6 = add %3, 100 : i32[Query:64] #0
  %7 = gt %6, %4 : i1[Query:64, Key:128] #1
  %8 = logical_)" + (code == "ge" ? "and" : "or") +
                    " %5, %7 : i1[Query:64, Key:128] #1\n",
                "%8");
}

ir::Kernel near(const std::string& code) {
  return chosen(R"(  %5 = sub %3, %4 : i32[Query:64, Key:128] #1
  %6 = abs %5 : i32[Query:64, Key:128] #1
  %7 = )" + code + R"( %6, 100 : i1[Query:64, Key:128] #1
  %8 = lt %4, 4 : i1[Key:128] #2
  %9 = logical_or %7, %8 : i1[Query:64, Key:128] #1
)",
                "%9");
}

ir::Kernel matmul(bool transposed) {
  return placed(R"(kernel matmul placed grid(Row:128, Column:64) threads 384 {
  param a: in bf16[Row, Inner]
  param b: in bf16[$b]
  param c: out f32[Row, Column]
  role @0 producer x1 registers 24
  role @1 consumer x2 registers 240
  layout #0 {reg 2*Column:1 2*Row:8 8*Column:8 | lane 4*Column:2 8*Row:1 | warp 4*Row:16}
  %as = alloc : shared<bf16[Row:128, Inner:64] x3>
  %bs = alloc : shared<bf16[$tile] x3>
  %a_full = alloc : barrier<1 x3>
  %a_empty = alloc : barrier<2 x3>
  %b_full = alloc : barrier<1 x3>
  %b_empty = alloc : barrier<2 x3>
  role @0 {
    %c0 = constant 0 : i32
    %c1 = constant 1 : i32
    %c63 = constant 63 : i32
    %c64 = constant 64 : i32
    %c128 = constant 128 : i32
    %0 = program_id Row : i32
    %row = mul %0, %c128 : i32
    %1 = program_id Column : i32
    %column = mul %1, %c64 : i32
    %2 = length Inner : i32
    %3 = add %2, %c63 : i32
    %4 = div %3, %c64 : i32
    %n.1 = loop %c0 to %4 (%n = %c0) {
      ^(%i)
      %5 = mul %i, %c64 : i32
      %6 = slot %as, %n : view<bf16[Row:128, Inner:64]>
      wait 1 %a_empty, %n
      expect 16384 %a_full, %n
      copy a(%6 ; %a_full, %n ; %row, %5)
      %7 = slot %bs, %n : view<bf16[$tile]>
      wait 1 %b_empty, %n
      expect 8192 %b_full, %n
      copy b(%7 ; %b_full, %n ; $start)
      %8 = add %n, %c1 : i32
      yield %8
    }
  }
  role @1 {
    %c0 = constant 0 : i32
    %c1 = constant 1 : i32
    %c63 = constant 63 : i32
    %c64 = constant 64 : i32
    %c128 = constant 128 : i32
    %9 = group_id : i32
    %10 = mul %9, %c64 : i32
    %11 = program_id Row : i32
    %12 = mul %11, %c128 : i32
    %row = add %12, %10 : i32
    %13 = program_id Column : i32
    %column = mul %13, %c64 : i32
    %14 = length Inner : i32
    %15 = add %14, %c63 : i32
    %16 = div %15, %c64 : i32
    %17 = constant 0 : f32[Row:64, Column:64] #0
    %acc.1, %n.1 = loop %c0 to %16 (%acc = %17, %n = %c0) {
      ^(%i)
      %18 = slot %as, %n : view<bf16[Row:128, Inner:64]>
      %19 = rows Row %18, %10 : view<bf16[Row:64, Inner:64]>
      %20 = slot %bs, %n : view<bf16[$tile]>
      wait %a_full, %n
      wait %b_full, %n
      mma_fence
      %21 = mma Inner %19, %20, %acc : f32[Row:64, Column:64] #0
      mma_commit
      %22 = mma_wait 0 %21
      arrive %a_empty, %n
      arrive %b_empty, %n
      %23 = add %n, %c1 : i32
      yield %22, %23
    }
    store c(%row, %column), %acc.1
  }
})",
                transposed ? std::vector<std::pair<std::string, std::string>>{{"b", "Column, Inner"},
                                                                              {"tile", "Column:64, Inner:64"},
                                                                              {"start", "%column, %5"}}
                           : std::vector<std::pair<std::string, std::string>>{
                                 {"b", "Inner, Column"}, {"tile", "Inner:64, Column:64"}, {"start", "%5, %column"}});
}

namespace {

constexpr const char* kForward = R"(kernel forward placed grid(Query:128, Head:1, Batch:1) threads 384 {
  param q: in bf16[Query, Depth]
  param k: in bf16[Key, Depth]
  param v: in bf16[Key, Value]
  param o: out bf16[Query, Value]
  param lse: out f32[Query]
  param scale: scalar f32
  param lengths: table i32 rank 1
  whole Depth:$d
  whole Value:$d
  role @0 producer x1 registers 24
  role @1 consumer x2 registers 240
  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}
  layout #1 {reg 2*Value:1 2*Query:8 $e*Value:8 | lane 4*Value:2 8*Query:1 | warp 4*Query:16}
  layout #2 {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  layout #3 {reg 2*Key:1 16*Key:8 | lane 4*Key:2 8 | warp 4}
  %q_ring = alloc : shared<bf16[Query:128, Depth:$d] x1>
  %k_ring = alloc : shared<bf16[Key:128, Depth:$d] x2>
  %v_ring = alloc : shared<bf16[Key:128, Value:$d] x2>
  %q_full = alloc : barrier<1 x1>
  %k_full = alloc : barrier<1 x2>
  %k_empty = alloc : barrier<2 x2>
  %v_full = alloc : barrier<1 x2>
  %v_empty = alloc : barrier<2 x2>
  %c0 = constant 0 : i32
  %c1 = constant 1 : i32
  %c127 = constant 127 : i32
  %c128 = constant 128 : i32
  %batch = program_id Batch : i32
  %keys = $keys
  %1 = add %keys, %c127 : i32
  %tiles = div %1, %c128 : i32
  %full = div %keys, %c128 : i32
  %2 = program_id Query : i32
  %first = mul %2, %c128 : i32
  role @0 {
    %3 = slot %q_ring, %c0 : view<bf16[Query:128, Depth:$d]>
    expect $bytes %q_full, %c0
    copy q(%3 ; %q_full, %c0 ; %first, %c0)
    %n.1 = loop %c0 to %tiles (%n = %c0) {
      ^(%i)
      %4 = mul %i, %c128 : i32
      %5 = slot %k_ring, %n : view<bf16[Key:128, Depth:$d]>
      wait 1 %k_empty, %n
      expect $bytes %k_full, %n
      copy k(%5 ; %k_full, %n ; %4, %c0$bound)
      %6 = slot %v_ring, %n : view<bf16[Key:128, Value:$d]>
      wait 1 %v_empty, %n
      expect $bytes %v_full, %n
      copy v(%6 ; %v_full, %n ; %4, %c0$bound)
      %7 = add %n, %c1 : i32
      yield %7
    }
  }
  role @1 {
    %g = group_id : i32
    %c64 = constant 64 : i32
    %8 = mul %g, %c64 : i32
    %row = add %first, %8 : i32
    %9 = slot %q_ring, %c0 : view<bf16[Query:128, Depth:$d]>
    %qv = rows Query %9, %8 : view<bf16[Query:64, Depth:$d]>
    %10 = constant -1e+30 : f32[Query:64] #0
    %11 = constant 0 : f32[Query:64] #0
    %12 = constant 0 : f32[Query:64, Value:$d] #1
    %13 = scalar scale : f32
    %14 = constant -inf : f32
    wait %q_full, %c0
    %m.1, %l.1, %acc.1, %n.1 = loop %c0 to %full (%m = %10, %l = %11, %acc = %12, %n = %c0) {
      ^(%i)
$step
      yield %m2, %l2, %a2, %n2
    }
    %m.3, %l.3, %acc.3, %n.3 = loop %full to %tiles (%m = %m.1, %l = %l.1, %acc = %acc.1, %n = %n.1) {
      ^(%i)
$masked
      yield %m2, %l2, %a2, %n2
    }
    %40 = constant 0 : f32
    %41 = gt %l.3, %40 : i1[Query:64] #0
    %42 = div %acc.3, %l.3 : f32[Query:64, Value:$d] #1
    %43 = select %41, %42, %40 : f32[Query:64, Value:$d] #1
    %44 = cast %43 : bf16[Query:64, Value:$d] #1
    store o(%row, %c0), %44
    %45 = log2 %l.3 : f32[Query:64] #0
    %46 = add %m.3, %45 : f32[Query:64] #0
    %47 = constant 0.6931471805599453 : f32
    %48 = mul %46, %47 : f32[Query:64] #0
    store lse(%row), %48
  }
})";

constexpr const char* kStep = R"(      %ks = slot %k_ring, %n : view<bf16[Key:128, Depth:$d]>
      wait %k_full, %n
      mma_fence
      %s0 = mma Depth %qv, %ks : f32[Query:64, Key:128] #2
      mma_commit
      %s1 = mma_wait 0 %s0
      arrive %k_empty, %n
      %s2 = mul %s1, %13 : f32[Query:64, Key:128] #2
$scores
      %t0 = reduce_max Key %s : f32[Query:64] #0
      %m2 = max %m, %t0 : f32[Query:64] #0
      %t1 = sub %m, %m2 : f32[Query:64] #0
      %r = exp2 %t1 : f32[Query:64] #0
      %t2 = sub %s, %m2 : f32[Query:64, Key:128] #2
      %e = exp2 %t2 : f32[Query:64, Key:128] #2
      %t3 = reduce_sum Key %e : f32[Query:64] #0
      %t4 = mul %l, %r : f32[Query:64] #0
      %l2 = add %t4, %t3 : f32[Query:64] #0
      %t5 = mul %acc, %r : f32[Query:64, Value:$d] #1
      %p = cast %e : bf16[Query:64, Key:128] #2
      %vs = slot %v_ring, %n : view<bf16[Key:128, Value:$d]>
      wait %v_full, %n
      mma_fence
      %t6 = mma Key %p, %vs, %t5 : f32[Query:64, Value:$d] #1
      mma_commit
      %a2, %p2 = mma_wait 0 %t6, %p
      arrive %v_empty, %n
      %n2 = add %n, %c1 : i32)";

constexpr const char* kMaskedScores = R"(      %start = mul %i, %c128 : i32
      %k0 = iota Key : i32[Key:128] #3
      %k1 = add %k0, %start : i32[Key:128] #3
      %in = lt %k1, %keys : i1[Key:128] #3
      %live = broadcast %in : i1[Query:64, Key:128] #2
      %s = select %live, %s2, %14 : f32[Query:64, Key:128] #2)";

}  // namespace

ir::Kernel forward(int head_dim, bool bounded) {
  std::string full = kStep, scores = "$scores\n";
  full.erase(full.find(scores), scores.size());
  for (std::size_t at = full.find("%s2"); at != std::string::npos; at = full.find("%s2", at)) full.replace(at, 3, "%s");
  return placed(kForward, {{"step", full},
                           {"masked", kStep},
                           {"scores", kMaskedScores},
                           {"keys", bounded ? "gather lengths(%batch) : i32" : "length Key : i32"},
                           {"bound", bounded ? " ; bound Key %keys" : ""},
                           {"bytes", std::to_string(128 * head_dim * 2)},
                           {"d", std::to_string(head_dim)},
                           {"e", std::to_string(head_dim / 8)}});
}

}  // namespace tessera::test
