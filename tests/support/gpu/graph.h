// What a stream is given to do, captured as a CUDA graph. Through driver functions that only tests use.
#pragma once

#include <doctest/doctest.h>

#include <tessera/runtime/stream.h>

namespace tessera::test {

class Graph {
 public:
  template <class Record>
  Graph(const runtime::Stream& stream, runtime::cu::CaptureMode mode, Record record) : current_(stream.device()) {
    auto* begin = function<int(runtime::cu::Stream, runtime::cu::CaptureMode)>("cuStreamBeginCapture");
    auto* end = function<int(runtime::cu::Stream, void**)>("cuStreamEndCapture");
    auto* instantiate = function<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags");
    REQUIRE(begin(stream.get(), mode) == 0);
    record();
    REQUIRE(end(stream.get(), &graph_) == 0);
    REQUIRE(instantiate(&executable_, graph_, 0) == 0);
  }
  Graph(const Graph&) = delete;
  ~Graph() {
    function<int(void*)>("cuGraphExecDestroy")(executable_);
    function<int(void*)>("cuGraphDestroy")(graph_);
  }
  void replay(const runtime::Stream& stream) const {
    REQUIRE(function<int(void*, runtime::cu::Stream)>("cuGraphLaunch")(executable_, stream.get()) == 0);
    stream.synchronize();
  }

 private:
  template <class F>
  static F* function(const char* name) {
    return reinterpret_cast<F*>(runtime::driver().find(name));
  }

  runtime::ScopedContext current_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

}  // namespace tessera::test
