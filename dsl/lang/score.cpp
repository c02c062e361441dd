#include <tessera/dsl/lang/score.h>

namespace tessera {

Score Score::named(std::string name, SourceLoc loc) const {
  detail::check_name("a score", name, loc);
  mask::Pointwise copy = *map_;
  copy.function.name = std::move(name);
  return Score(std::move(copy));
}

void Score::take(detail::FunctionTrace& trace, detail::Handle result) {
  map_ = std::make_shared<const mask::Pointwise>(trace.finish(result));
}

}  // namespace tessera
