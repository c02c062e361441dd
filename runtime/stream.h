// Streams of work on a device, events to time them by, and whether a stream is being captured into a CUDA graph.
#pragma once

#include <tessera/runtime/device.h>

namespace tessera::runtime {

// A stream: our own, destroyed with the object, or a user's, which stays theirs.
class Stream {
 public:
  explicit Stream(const Device& device);  // our own; does not wait for the null stream
  static Stream borrow(const Device& device, void* stream) { return Stream(device, static_cast<cu::Stream>(stream)); }
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  cu::Stream get() const { return handle_; }
  const Device& device() const { return device_; }
  void synchronize() const;
  bool capturing() const;

 private:
  Stream(const Device& device, cu::Stream handle) : device_(device), handle_(handle), owned_(false) {}

  Device device_;
  cu::Stream handle_ = nullptr;
  bool owned_ = true;
};

// Whether work on `stream` is being recorded rather than run. Throws where the driver can't say: the null stream while
// another stream is captured in global mode.
bool is_capturing(cu::Stream stream);

// The same, but true where the driver can't say.
bool may_be_capturing(cu::Stream stream);

// A point in a stream's work.
class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(cu::Stream stream) const;
  void make_wait(cu::Stream stream) const;  // later work of `stream` waits for the event
  void synchronize() const;
  float milliseconds_since(const Event& earlier) const;  // both must have been reached

 private:
  Device device_;
  cu::Event handle_ = nullptr;
};

// While it lives, this thread may load modules and allocate memory although some stream is being captured in global
// mode. Such calls are not part of the graph, which is right for what outlives it.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;

 private:
  cu::CaptureMode mode_ = cu::CaptureMode::relaxed;
};

}  // namespace tessera::runtime
