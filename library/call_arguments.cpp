#include <tessera/library/call_arguments.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/library/view_rules.h>

namespace tessera::library {

namespace {

using Kind = ParameterSource::Kind;

const NamedTable* find_table(const AttentionCall& call, const std::string& name) {
  for (const NamedTable& table : call.tables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

struct Wanted {
  std::vector<std::string> scalars, tables;
};

Wanted wanted_names(const std::vector<const mask::Pointwise*>& functions) {
  Wanted wanted;
  for (const mask::Pointwise* function : functions) {
    for (std::size_t i = 0; i < function->captures.size(); ++i) {
      const ir::Param& param = function->function.params[i];
      if (param.kind == ir::ParamKind::scalar) wanted.scalars.push_back(param.name);
      if (param.kind == ir::ParamKind::table && !function->captures[i].table) wanted.tables.push_back(param.name);
    }
  }
  return wanted;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "it reads none" : fmt::format("it reads: {}", fmt::join(names, ", "));
}

}  // namespace

void check_names(const std::vector<const mask::Pointwise*>& functions, const AttentionCall& call, SourceLoc loc) {
  Wanted wanted = wanted_names(functions);
  for (const mask::NamedScalar& scalar : call.params) {
    if (contains(wanted.scalars, scalar.name)) continue;
    throw UserError(loc, fmt::format("no mask or score of this Attention reads a Param named '{}'", scalar.name),
                    list_of(wanted.scalars));
  }
  for (const NamedTable& table : call.tables) {
    if (!contains(wanted.tables, table.name)) {
      throw UserError(
          loc, fmt::format("no mask or score of this Attention reads a table named '{}' at the call", table.name),
          list_of(wanted.tables));
    }
    if (table.data.memory != call.q.memory) {
      throw UserError(loc, fmt::format("table '{}' is not in the memory that q is in", table.name),
                      "put all data of a call in one memory");
    }
    check_address("table '" + table.name + "'", table.data, bytes_of(table.data.dtype), loc);
  }
  for (const std::string& name : wanted.tables) {
    if (find_table(call, name)) continue;
    throw UserError(loc, fmt::format("the call lacks the table '{}'", name),
                    fmt::format("give .tables = {{{{\"{}\", view}}}}", name));
  }
}

std::vector<std::vector<std::int64_t>> table_shapes(const mask::Pointwise& function, const AttentionCall* call) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < function.captures.size(); ++i) {
    const NamedTable* named = call ? find_table(*call, function.function.params[i].name) : nullptr;
    if (function.captures[i].table) {
      shapes.push_back(function.captures[i].table->shape());
    } else if (named) {
      shapes.push_back(named->data.shape);
    } else {
      shapes.emplace_back();
    }
  }
  return shapes;
}

double scalar_of(const ParameterSource& source, const AttentionCall& call) {
  for (const mask::NamedScalar& scalar : call.params) {
    if (scalar.name == source.name) return scalar.value;
  }
  return source.value;
}

const View& tensor_of(const ParameterSource& source, const AttentionCall& call) {
  switch (source.kind) {
    case Kind::q: return call.q;
    case Kind::k: return call.k;
    case Kind::v: return call.v;
    case Kind::o: return call.o;
    case Kind::lse: return call.lse;
    case Kind::key_lengths: return call.key_lengths;
    case Kind::named_table: {
      const NamedTable* table = find_table(call, source.name);
      ensure(table != nullptr, "the tables of a call were checked");
      return table->data;
    }
    case Kind::scale:
    case Kind::argument:
    case Kind::captured:
    case Kind::named_scalar: break;
  }
  throw InternalError("parameter '" + source.name + "' is no tensor of a call");
}

std::vector<ir::Argument> call_arguments(const Planned& planned, const AttentionCall& call, double scale,
                                         const View& key_lengths, const PlaceTable& place) {
  std::vector<ir::Argument> arguments;
  for (const ParameterSource& source : planned.sources) {
    switch (source.kind) {
      case Kind::scale: arguments.emplace_back(scale == 0 ? 1 : std::abs(scale)); break;  // its sign is in the queries
      case Kind::named_scalar: arguments.emplace_back(scalar_of(source, call)); break;
      case Kind::captured: arguments.emplace_back(place(source.table)); break;
      case Kind::key_lengths: arguments.emplace_back(key_lengths); break;
      default: arguments.emplace_back(tensor_of(source, call)); break;
    }
  }
  return arguments;
}

View host_view(const std::shared_ptr<const mask::TableData>& table) {
  return View::contiguous(const_cast<void*>(table->data()), table->dtype(), table->shape(), Memory::host);
}

TableStore::Buffer TableStore::upload(const std::shared_ptr<const mask::TableData>& table,
                                      const runtime::Device& device) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[{device.ordinal(), table.get()}];
  if (entry.table.lock() == table) {
    if (Buffer buffer = entry.buffer.lock()) return buffer;
  }
  std::int64_t bytes = table->size() * bytes_of(table->dtype());
  auto buffer = std::make_shared<runtime::DeviceBuffer>(device, bytes);
  runtime::copy_to_device(device, buffer->address(), table->data(), bytes);
  entry = {table, buffer};
  return buffer;
}

}  // namespace tessera::library
