#include <tessera/library/call_arguments.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
  std::vector<ir::Param> scalars, tables;
};

Wanted wanted_names(const std::vector<const mask::Pointwise*>& functions) {
  Wanted wanted;
  for (const mask::Pointwise* function : functions) {
    for (std::size_t i = 0; i < function->captures.size(); ++i) {
      const ir::Param& param = function->function.params[i];
      if (param.kind == ir::ParamKind::scalar) wanted.scalars.push_back(param);
      if (param.kind == ir::ParamKind::table && !function->captures[i].table) wanted.tables.push_back(param);
    }
  }
  return wanted;
}

const ir::Param* find(const std::vector<ir::Param>& params, const std::string& name) {
  auto found = std::find_if(params.begin(), params.end(), [&](const ir::Param& param) { return param.name == name; });
  return found == params.end() ? nullptr : &*found;
}

std::string list_of(const std::vector<ir::Param>& params) {
  std::vector<std::string> names;  // several functions may read one
  for (const ir::Param& param : params) {
    if (std::find(names.begin(), names.end(), param.name) == names.end()) names.push_back(param.name);
  }
  return names.empty() ? "it reads none" : fmt::format("it reads: {}", fmt::join(names, ", "));
}

template <class Named>
void check_once(const char* what, const std::vector<Named>& all, SourceLoc loc) {
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (std::any_of(all.begin(), at, [&](const Named& before) { return before.name == at->name; }))
      throw UserError(loc, fmt::format("{} '{}' is given twice", what, at->name), "give each name once");
  }
}

void check_value(const ir::Param& param, double value, SourceLoc loc) {
  if (is_param_value(param.dtype, value)) return;
  throw UserError(
      loc, fmt::format("'{}' is an {} scalar, got {}", param.name, name_of(param.dtype), value),
      param.dtype == DType::i32 ? "pass a whole number that fits 32 bits" : "pass a finite number of at most 3.4e38");
}

void check_table(const ir::Param& param, const View& data, Memory memory, SourceLoc loc) {
  if (data.memory != memory) {
    throw UserError(loc, fmt::format("table '{}' is not in the memory that q is in", param.name),
                    "put all data of a call in one memory");
  }
  if (static_cast<int>(data.shape.size()) != param.rank) {
    throw UserError(loc,
                    fmt::format("table '{}' has the shape {}, and is read at {} position{}", param.name,
                                shape_text(data), param.rank, param.rank == 1 ? "" : "s"),
                    fmt::format("give it {} dim{}", param.rank, param.rank == 1 ? "" : "s"));
  }
  check_address("table '" + param.name + "'", data, bytes_of(data.dtype), loc);
}

}  // namespace

void check_names(const std::vector<const mask::Pointwise*>& functions, const AttentionCall& call, SourceLoc loc) {
  Wanted wanted = wanted_names(functions);
  for (const mask::NamedScalar& scalar : call.params) {
    const ir::Param* param = find(wanted.scalars, scalar.name);
    if (!param) {
      throw UserError(loc, fmt::format("no mask or score of this Attention reads a Param named '{}'", scalar.name),
                      list_of(wanted.scalars));
    }
    check_value(*param, scalar.value, loc);
  }
  check_once("Param", call.params, loc);
  for (const NamedTable& table : call.tables) {
    const ir::Param* param = find(wanted.tables, table.name);
    if (!param) {
      throw UserError(
          loc, fmt::format("no mask or score of this Attention reads a table named '{}' at the call", table.name),
          list_of(wanted.tables));
    }
    check_table(*param, table.data, call.q.memory, loc);
  }
  check_once("table", call.tables, loc);
  for (const ir::Param& param : wanted.tables) {
    if (find_table(call, param.name)) continue;
    throw UserError(loc, fmt::format("the call lacks the table '{}'", param.name),
                    fmt::format("give .tables = {{{{\"{}\", view}}}}", param.name));
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

bool is_scalar_value(DType dtype, double value) {
  return dtype != DType::i32 || (std::floor(value) == value && value >= -0x1p31 && value < 0x1p31);
}

bool is_param_value(DType dtype, double value) {
  return is_scalar_value(dtype, value) && std::fabs(value) <= std::numeric_limits<float>::max();
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
    case Kind::o:
    case Kind::earlier_o: return call.o;
    case Kind::lse:
    case Kind::earlier_lse: return call.lse;
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

std::vector<ir::Argument> call_arguments(const PlannedKernel& kernel, const AttentionCall& call, double scale,
                                         const View& key_lengths, const PlaceTable& place) {
  std::vector<ir::Argument> arguments;
  for (const ParameterSource& source : kernel.sources) {
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

View lse_view(const AttentionCall& call, void* data) {
  return View::contiguous(data, DType::f32, {call.o.shape[0], call.o.shape[1], call.o.shape[2]}, call.o.memory);
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
