#include <tessera/library/check_call.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/library/view_rules.h>

namespace tessera::library {

namespace {

constexpr int kMaxDim = 256;
constexpr const char* kTensorDims = "batch, heads, length, dim";

void check_dim(const char* name, int dim, SourceLoc loc) {
  if (dim <= 0)
    throw UserError(loc, fmt::format("{} is {}", name, dim), "give the columns of a head: a multiple of 8 up to 256");
  if (dim > kMaxDim) {
    throw UserError(loc, fmt::format("{} is {}, above the limit of {}", name, dim, kMaxDim), "split the head");
  }
  if (dim % 8 != 0) {
    throw UserError(
        loc, fmt::format("{} is {}, not a multiple of 8", name, dim),
        fmt::format("pad the head to {} columns of zeros, and give the scale of the true dim", (dim + 7) / 8 * 8));
  }
}

void check_extent(const char* name, std::size_t dim, const View& view, std::int64_t wanted, const std::string& why,
                  SourceLoc loc) {
  if (view.shape[dim] == wanted) return;
  throw UserError(loc,
                  fmt::format("{} has the shape {}: dim {} is {}, expected {} ({})", name, shape_text(view), dim,
                              view.shape[dim], wanted, why),
                  "make the shapes agree");
}

void check_same_memory(const char* name, const View& view, Memory memory, SourceLoc loc) {
  if (view.memory == memory) return;
  auto text = [](Memory m) { return m == Memory::host ? "host" : "device"; };
  throw UserError(loc, fmt::format("{} is in {} memory and q in {} memory", name, text(view.memory), text(memory)),
                  "put all tensors of a call in one memory");
}

bool given(const View& view) { return view.data != nullptr || !view.shape.empty(); }

void check_heads(std::int64_t heads, std::int64_t kv_heads, SourceLoc loc) {
  bool divides = kv_heads == 0 ? heads == 0 : heads % kv_heads == 0;
  if (!divides) {
    throw UserError(loc,
                    fmt::format("{} query heads do not divide evenly over {} key and value heads", heads, kv_heads),
                    "make the number of query heads a multiple of the number of key and value heads");
  }
}

struct Tensors {
  const AttentionOptions& options;
  const AttentionCall& call;
  SourceLoc loc;

  void check(const char* name, const View& view, int dim, const char* dim_name) const {
    check_view(name, view, options.dtype, 4, kTensorDims, loc);
    check_extent(name, 3, view, dim, dim_name, loc);
    check_same_memory(name, view, call.q.memory, loc);
    check_alignment(name, view, loc);
  }
};

void check_lse(const AttentionCall& call, SourceLoc loc) {
  check_view("lse", call.lse, DType::f32, 3, "batch, heads, length", loc);
  for (std::size_t dim = 0; dim < 3; ++dim) check_extent("lse", dim, call.lse, call.q.shape[dim], "as in q", loc);
  check_same_memory("lse", call.lse, call.q.memory, loc);
  check_output("lse", call.lse, loc);
}

void check_key_lengths(const AttentionCall& call, SourceLoc loc) {
  check_view("key_lengths", call.key_lengths, DType::i32, 1, "batch", loc);
  check_extent("key_lengths", 0, call.key_lengths, call.q.shape[0], "the batch of q", loc);
  if (call.key_lengths.shape[0] > 1 && call.key_lengths.strides[0] != 1) {
    throw UserError(loc, fmt::format("key_lengths has stride {}, must be 1", call.key_lengths.strides[0]), "copy it");
  }
  if (call.key_lengths.memory != Memory::host) return;
  auto lengths = static_cast<const std::int32_t*>(call.key_lengths.data);
  for (std::int64_t b = 0; b < call.key_lengths.shape[0]; ++b) {
    if (lengths[b] < 0 || lengths[b] > call.k.shape[2]) {
      throw UserError(loc, fmt::format("key_lengths[{}] is {}, and k has {} keys", b, lengths[b], call.k.shape[2]),
                      "give lengths from 0 to the number of keys");
    }
  }
}

struct NamedView {
  const char* name;
  const View* view;
};

// Of an output with an input, or with another output.
std::optional<Overlap> find_overlap(std::span<const NamedView> outputs, std::span<const NamedView> inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedView& input : inputs) {
      if (overlap(*outputs[i].view, *input.view)) return Overlap{outputs[i].name, input.name};
    }
    for (const NamedView& other : outputs.subspan(i + 1)) {
      if (overlap(*outputs[i].view, *other.view)) return Overlap{outputs[i].name, other.name};
    }
  }
  return std::nullopt;
}

void check_apart(const std::optional<Overlap>& found, SourceLoc loc) {
  if (!found) return;
  throw UserError(loc, fmt::format("{} is written, and its memory overlaps that of {}", found->output, found->other),
                  fmt::format("give {} memory of its own", found->output));
}

}  // namespace

std::optional<Overlap> find_overlap(const AttentionCall& call) {
  const NamedView outputs[] = {{"lse", &call.lse}, {"o", &call.o}};
  const NamedView inputs[] = {{"q", &call.q}, {"k", &call.k}, {"v", &call.v}, {"key_lengths", &call.key_lengths}};
  if (const auto found = find_overlap(outputs, inputs)) return found;
  for (const NamedTable& table : call.tables) {
    const NamedView read{table.name.c_str(), &table.data};
    if (const auto found = find_overlap(outputs, {&read, 1})) return found;
  }
  return std::nullopt;
}

std::optional<Overlap> find_overlap(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments) {
  const auto views = [&](bool written) {
    std::vector<NamedView> found;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const View* view = std::get_if<View>(&arguments[i]);
      const ir::Param& param = kernel.params[i];
      if (view && written == (param.kind == ir::ParamKind::output)) found.push_back({param.name.c_str(), view});
    }
    return found;
  };
  return find_overlap(views(true), views(false));
}

void check_outputs(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments, SourceLoc loc) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.params[i].kind == ir::ParamKind::output)
      check_output(kernel.params[i].name, std::get<View>(arguments[i]), loc);
  }
  check_apart(find_overlap(kernel, arguments), loc);
}

AttentionOptions resolve(AttentionOptions options, SourceLoc loc) {
  if (options.dtype != DType::f16 && options.dtype != DType::bf16) {
    throw UserError(loc, fmt::format("dtype is {}", name_of(options.dtype)),
                    "attention takes f16 or bf16: convert q, k and v (sums are in f32 either way)");
  }
  check_dim("head_dim", options.head_dim, loc);
  if (options.value_dim == 0) options.value_dim = options.head_dim;
  check_dim("value_dim", options.value_dim, loc);
  if (!options.scale) options.scale = 1 / std::sqrt(static_cast<double>(options.head_dim));
  if (!std::isfinite(*options.scale))
    throw UserError(loc, fmt::format("scale is {}", *options.scale), "give a finite number");
  return options;
}

AttentionShapes check_shapes(AttentionShapes shapes, SourceLoc loc) {
  if (shapes.kv_heads == 0) shapes.kv_heads = shapes.heads;
  for (std::int64_t extent : {shapes.batch, shapes.heads, shapes.kv_heads, shapes.query_length, shapes.key_length}) {
    if (extent < 0 || extent > INT32_MAX) {
      throw UserError(loc,
                      fmt::format("the shapes are batch {}, heads {} over {}, {} queries, {} keys", shapes.batch,
                                  shapes.heads, shapes.kv_heads, shapes.query_length, shapes.key_length),
                      "give sizes from 0 to 2^31 - 1");
    }
  }
  check_heads(shapes.heads, shapes.kv_heads, loc);
  return shapes;
}

AttentionShapes check_call(const AttentionOptions& options, const AttentionCall& call, SourceLoc loc) {
  Tensors tensors{options, call, loc};
  tensors.check("q", call.q, options.head_dim, "head_dim");
  tensors.check("k", call.k, options.head_dim, "head_dim");
  tensors.check("v", call.v, options.value_dim, "value_dim");
  tensors.check("o", call.o, options.value_dim, "value_dim");
  check_extent("k", 0, call.k, call.q.shape[0], "the batch of q", loc);
  check_extent("v", 0, call.v, call.q.shape[0], "the batch of q", loc);
  check_extent("v", 1, call.v, call.k.shape[1], "the heads of k", loc);
  check_extent("v", 2, call.v, call.k.shape[2], "the keys of k", loc);
  for (std::size_t dim = 0; dim < 3; ++dim) check_extent("o", dim, call.o, call.q.shape[dim], "as in q", loc);
  check_output("o", call.o, loc);
  if (given(call.lse)) check_lse(call, loc);
  if (given(call.key_lengths)) check_key_lengths(call, loc);
  check_apart(find_overlap(call), loc);
  return check_shapes({.batch = call.q.shape[0],
                       .heads = call.q.shape[1],
                       .kv_heads = call.k.shape[1],
                       .query_length = call.q.shape[2],
                       .key_length = call.k.shape[2],
                       .lse = given(call.lse),
                       .key_lengths = given(call.key_lengths)},
                      loc);
}

void check_tables(const ir::Function& function, const std::vector<std::vector<std::int64_t>>& shapes_of_params,
                  const AttentionShapes& shapes, SourceLoc loc) {
  const std::array<std::int64_t, ir::Function::kPositions> lengths{
      shapes.query_length, shapes.key_length, shapes.heads, shapes.batch, 0, 0};
  constexpr std::array<const char*, ir::Function::kPositions> names{"queries", "keys", "heads", "sequences", "", ""};
  // wanted[p][d]: the longest axis that indexes dim d of table p, and which; -1: none does.
  std::vector<std::vector<int>> wanted(function.params.size());
  for (std::size_t p = 0; p < wanted.size(); ++p) wanted[p].assign(shapes_of_params[p].size(), -1);
  const std::vector<ir::Value>& args = function.graph.entry.args;
  for (const ir::Op& op : function.graph.entry.ops) {
    if (op.code != ir::OpCode::gather) continue;
    std::vector<int>& dims = wanted[static_cast<std::size_t>(op.index)];
    for (std::size_t d = 0; d < op.operands.size() && d < dims.size(); ++d) {
      for (int axis = 0; axis <= ir::Function::batch; ++axis) {
        if (!(args[static_cast<std::size_t>(axis)] == op.operands[d])) continue;
        if (dims[d] < 0 || lengths[static_cast<std::size_t>(axis)] > lengths[static_cast<std::size_t>(dims[d])])
          dims[d] = axis;
      }
    }
  }
  for (std::size_t p = 0; p < wanted.size(); ++p) {
    for (std::size_t d = 0; d < wanted[p].size(); ++d) {
      if (wanted[p][d] < 0) continue;
      auto axis = static_cast<std::size_t>(wanted[p][d]);
      std::int64_t have = shapes_of_params[p][d];
      bool broadcasts = axis >= ir::Function::head && have == 1;
      if (have == lengths[axis] || broadcasts) continue;
      throw UserError(
          loc,
          fmt::format("table '{}' of shape [{}] is read along its dim {} by {}, of which this call has {}",
                      function.params[p].name, fmt::join(shapes_of_params[p], ", "), d, names[axis], lengths[axis]),
          fmt::format("it was made for {}: make the mask or score for these lengths", have));
    }
  }
}

}  // namespace tessera::library
