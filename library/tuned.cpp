#include <tessera/library/tuned.h>

#include <tessera/library/planned.h>

namespace tessera::library {

Tuned::Tuned(const AttentionOptions& resolved, const TuneChoice& fallback, const runtime::Device* device)
    : head_dim_(resolved.head_dim), value_dim_(resolved.value_dim), fallback_(fallback) {
  const bool open = resolved.query_tile == 0 && resolved.key_tile == 0 && resolved.schedule == backend::Schedule{};
  if (open && device) device_ = device->info().name;
}

Tuned::Answer Tuned::at(const AttentionShapes& shapes, const std::function<const TracedProgram&()>& program) {
  if (device_.empty()) return {fallback_, ""};
  std::string kind = shape_class(shapes);
  if (shapes.lse) kind += ", lse";
  if (shapes.key_lengths) kind += ", key lengths";
  return answers_.get(kind, [&] { return look_up(shapes, program()); });
}

Tuned::Answer Tuned::look_up(const AttentionShapes& shapes, const TracedProgram& program) const {
  AttentionOptions dims;
  dims.head_dim = head_dim_;
  dims.value_dim = value_dim_;
  const TuneStore::Found found = TuneStore::from_environment().find(tune_key(device_, program, dims, shapes));
  if (found.choice) return {*found.choice, "tuned: " + to_string(*found.choice)};
  return {fallback_, found.ignored};
}

}  // namespace tessera::library
