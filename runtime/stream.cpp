#include <tessera/runtime/stream.h>

#include <utility>

namespace tessera::runtime {

Stream::Stream(const Device& device) : device_(device) {
  ScopedContext current(device_);
  driver().stream_create(&handle_, static_cast<unsigned>(cu::StreamFlag::non_blocking));
}

Stream::~Stream() {
  if (owned_ && handle_) driver().stream_destroy.status(handle_);
}

Stream::Stream(Stream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)), owned_(other.owned_) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(owned_, other.owned_);
  return *this;
}

void Stream::synchronize() const {
  ScopedContext current(device_);
  driver().stream_synchronize(handle_);
}

bool Stream::capturing() const {
  ScopedContext current(device_);
  return is_capturing(handle_);
}

bool is_capturing(cu::Stream stream) {
  cu::CaptureStatus status = cu::CaptureStatus::none;
  driver().stream_is_capturing(stream, &status);
  return status != cu::CaptureStatus::none;
}

bool may_be_capturing(cu::Stream stream) {
  cu::CaptureStatus status = cu::CaptureStatus::none;
  const bool known = driver().stream_is_capturing.status(stream, &status) == cu::Result::success;
  return !known || status != cu::CaptureStatus::none;
}

Event::Event(const Device& device) : device_(device) {
  ScopedContext current(device_);
  driver().event_create(&handle_, 0);
}

Event::~Event() {
  if (handle_) driver().event_destroy.status(handle_);
}

Event::Event(Event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

void Event::record(cu::Stream stream) const {
  ScopedContext current(device_);
  driver().event_record(handle_, stream);
}

void Event::make_wait(cu::Stream stream) const {
  ScopedContext current(device_);
  driver().stream_wait_event(stream, handle_, 0);
}

void Event::synchronize() const { driver().event_synchronize(handle_); }

float Event::milliseconds_since(const Event& earlier) const {
  float milliseconds = 0;
  driver().event_elapsed_time(&milliseconds, earlier.handle_, handle_);
  return milliseconds;
}

OutsideCapture::OutsideCapture() { driver().exchange_capture_mode(&mode_); }

OutsideCapture::~OutsideCapture() { driver().exchange_capture_mode.status(&mode_); }

}  // namespace tessera::runtime
