#include <tessera/backend/emit/phis.h>

#include <tessera/backend/emit/elements.h>

namespace tessera::backend {

Values flatten(Emitter& e, const std::vector<ir::Value>& values) {
  Values all;
  for (ir::Value v : values) all.insert(all.end(), e[v].regs.begin(), e[v].regs.end());
  return all;
}

Phis make_phis(Emitter& e, const Values& like) {
  Phis phis;
  for (llvm::Value* v : like) phis.push_back(e.b.CreatePHI(v->getType(), 2));
  return phis;
}

void add_incoming(const Phis& phis, const Values& values, llvm::BasicBlock* from) {
  if (phis.size() != values.size()) throw InternalError("a region yields other registers than it carries");
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(values[i], from);
}

void bind_phis(Emitter& e, const std::vector<ir::Value>& to, const Phis& phis) {
  auto next = phis.begin();
  for (ir::Value v : to) {
    const int n = register_values(e.type(v));
    e.bind(v, {.regs = Values(next, next + n)});
    next += n;
  }
}

}  // namespace tessera::backend
