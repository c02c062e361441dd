// Attention under a mask, planned by its geometry, compiled once and run where its tensors are.
//
//   Attention attend({.mask = causal & documents(ids), .dtype = bf16, .head_dim = 128});
//   attend({.q = q, .k = k, .v = v, .o = o, .lse = lse});
//
// Views of host memory run on the interpreter, views of device memory on their GPU; both compute the same program.
// Scores are scaled, then modified by the score functions from left to right, then masked. A row without a live key
// gives O = 0 and LSE = -inf. LSE is the natural log of the sum of exp over the live scores.
//
// Nothing waits for the device, and a call whose shapes were prepared (or seen) can be captured into a CUDA graph. An
// Attention may be used by several threads: a call that is ready does not wait for what another compiles.
#pragma once

#include <memory>
#include <string>

#include <tessera/dsl/ir/ir.h>
#include <tessera/library/attention_options.h>

namespace tessera {

class TESSERA_API Attention {
 public:
  explicit Attention(AttentionOptions options, SourceLoc loc = SourceLoc::here());
  ~Attention();
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;

  // Plans for these shapes and, where there is a GPU, compiles and loads. What was prepared last is what the texts
  // below describe; a call for other shapes prepares those.
  void prepare(const AttentionShapes& shapes, SourceLoc loc = SourceLoc::here());

  // Refuses with a UserError before anything is written, or enqueues the work on call.stream (in host memory: is done
  // on return).
  void operator()(const AttentionCall& call, SourceLoc loc = SourceLoc::here());

  // What is visited, what the kernel costs, and where the time to compile went. Compile what has not been compiled yet.
  std::string explain(SourceLoc loc = SourceLoc::here()) const;
  std::string explain_json(SourceLoc loc = SourceLoc::here()) const;

  // The program at each stage of the compiler.
  std::string ir(ir::Stage stage, SourceLoc loc = SourceLoc::here()) const;
  std::string llvm_ir(SourceLoc loc = SourceLoc::here()) const;
  std::string ptx(SourceLoc loc = SourceLoc::here()) const;
  std::string cubin(
      SourceLoc loc = SourceLoc::here()) const;  // bytes. UserError where only the driver can assemble, saying why
  std::string sass(SourceLoc loc = SourceLoc::here()) const;  // UserError where no disassembler is installed

  // Kernels this Attention has had compiled or fetched from disk; those it shared with others don't count.
  int compiles() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
