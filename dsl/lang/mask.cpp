#include <tessera/dsl/lang/mask.h>

namespace tessera {

Mask::Mask() : Mask(mask::everything()) {}

Mask Mask::named(std::string name, SourceLoc loc) const {
  detail::check_name("a mask", name, loc);
  mask::Pointwise copy = *predicate_;
  copy.function.name = std::move(name);
  return Mask(std::move(copy));
}

Mask Mask::for_lengths(std::string of, mask::Extent queries, mask::Extent keys) const {
  mask::Pointwise copy = *predicate_;
  copy.lengths.push_back({std::move(of), queries, keys});
  return Mask(std::move(copy));
}

Tile<i1> Mask::operator()(Position q, Position k, At at, SourceLoc loc) const {
  return Tile<i1>::of(detail::call(*predicate_,
                                   {q.lower(loc), k.lower(loc), at.head.lower(loc), at.batch.lower(loc),
                                    at.query_length.lower(loc), at.key_length.lower(loc)},
                                   loc));
}

void Mask::take(detail::FunctionTrace& trace, detail::Handle result) {
  predicate_ = std::make_shared<const mask::Pointwise>(trace.finish(result));
}

Mask operator&(const Mask& a, const Mask& b) { return Mask(mask::both(*a.predicate_, *b.predicate_)); }
Mask operator|(const Mask& a, const Mask& b) { return Mask(mask::either(*a.predicate_, *b.predicate_)); }
Mask operator~(const Mask& a) { return Mask(mask::negated(*a.predicate_)); }

}  // namespace tessera
