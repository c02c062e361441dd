#include <tessera/library/call_key.h>

namespace tessera::library {

namespace {

// Both sinks are told the same numbers and names in the same order; they answer whether to go on.
struct Writer {
  std::vector<std::int64_t>& numbers;
  std::vector<std::string>& names;

  bool number(std::int64_t value) { return numbers.push_back(value), true; }
  bool name(const std::string& value) { return names.push_back(value), true; }
};

struct Reader {
  const std::vector<std::int64_t>& numbers;
  const std::vector<std::string>& names;
  std::size_t next_number = 0, next_name = 0;

  bool number(std::int64_t value) { return next_number < numbers.size() && numbers[next_number++] == value; }
  bool name(const std::string& value) { return next_name < names.size() && names[next_name++] == value; }
  bool at_end() const { return next_number == numbers.size() && next_name == names.size(); }
};

template <class Sink>
bool tell(const View& view, Sink& sink) {
  const auto rank = static_cast<std::int64_t>(view.shape.size());
  const auto strides = static_cast<std::int64_t>(view.strides.size());
  const bool stray = rank == 0 && view.data != nullptr;  // an address without a shape is not the absence of a tensor
  const auto kind = static_cast<std::int64_t>(view.dtype) * 4 + static_cast<std::int64_t>(view.memory) * 2 + stray;
  if (!sink.number(kind) || !sink.number(rank) || !sink.number(strides)) return false;
  for (std::int64_t extent : view.shape) {
    if (!sink.number(extent)) return false;
  }
  for (std::int64_t stride : view.strides) {
    if (!sink.number(stride)) return false;
  }
  return true;
}

template <class Sink>
bool tell_lengths(const View& lengths, Sink& sink) {
  if (lengths.data == nullptr || lengths.memory != Memory::host || lengths.dtype != DType::i32) return true;
  auto values = static_cast<const std::int32_t*>(lengths.data);
  for (std::int64_t i = 0; i < lengths.elements(); ++i) {
    if (!sink.number(values[i])) return false;
  }
  return true;
}

template <class Sink>
bool tell(const AttentionCall& call, Sink& sink) {
  for (const View* view : {&call.q, &call.k, &call.v, &call.o, &call.lse, &call.key_lengths}) {
    if (!tell(*view, sink)) return false;
  }
  if (!sink.number(static_cast<std::int64_t>(call.params.size()))) return false;
  for (const mask::NamedScalar& scalar : call.params) {
    if (!sink.name(scalar.name)) return false;
  }
  for (const NamedTable& table : call.tables) {
    if (!sink.name(table.name) || !tell(table.data, sink)) return false;
  }
  return tell_lengths(call.key_lengths, sink);
}

}  // namespace

CallKey::CallKey(const AttentionCall& call) {
  Writer writer{numbers_, names_};
  tell(call, writer);
}

bool CallKey::matches(const AttentionCall& call) const {
  Reader reader{numbers_, names_};
  return tell(call, reader) && reader.at_end();
}

}  // namespace tessera::library
