// A predicate asked at many points. `mask::allows` reads the predicate's function anew for each, which is most of the
// time of a test that compares every pair.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::testing {

// The predicate must outlive what is returned, which one thread at a time may call.
inline std::function<bool(const mask::Point&)> at_points(const mask::Pointwise& predicate,
                                                         const std::vector<mask::NamedScalar>& scalars = {}) {
  struct Compiled {
    mask::Expressions expressions;
    mask::PointProgram program;
    Compiled(const mask::Pointwise& predicate, const std::vector<mask::NamedScalar>& scalars)
        : expressions(predicate, scalars), program(expressions, expressions.body({}, true)) {}
  };
  return [compiled = std::make_shared<Compiled>(predicate, scalars)](const mask::Point& p) {
    return compiled->program.test({p.q, p.k, p.head, p.batch, p.query_length, p.key_length, 0, 0, 0});
  };
}

}  // namespace tessera::testing
