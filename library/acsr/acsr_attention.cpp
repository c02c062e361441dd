#include <tessera/library/acsr/acsr_attention.h>

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/acsr/kernels.h>
#include <tessera/library/program.h>
#include <tessera/library/view_rules.h>

namespace tessera {

namespace {

// The programs of one launch of the layout.
struct Stage {
  AcsrLaunch launch;
  Program scores, softmax, product;
};

// In band coordinates: query r of band i (an entry of the batch) sees a run of its keys.
Mask mask_of(const Acsr& acsr, const AcsrLayout& layout, const AcsrLaunch& launch, SourceLoc loc) {
  const std::int64_t height = layout.bands[launch.first].rows;
  std::vector<int> first, end;
  for (std::size_t i = 0; i < launch.count; ++i) {
    const AcsrBand& band = layout.bands[launch.first + i];
    for (std::int64_t r = 0; r < height; ++r) {
      const Progression& row = acsr.rows[static_cast<std::size_t>(band.row + r * band.row_step)];
      const std::int64_t begin = row.count == 0 ? 0 : (row.first - band.key) / band.key_step;
      first.push_back(static_cast<int>(begin));
      end.push_back(static_cast<int>(begin + row.count));
    }
  }
  Table<i32> from = Table<i32>(first, loc).named("first"), to = Table<i32>(end, loc).named("end");
  auto predicate = [&](Position q, Position k, At at) {
    Position row = at.batch * height + q;
    return k >= from[row] && k < to[row];
  };
  return Mask(predicate, loc).named("acsr");
}

std::int64_t bytes_at(const View& view, std::int64_t elements) { return elements * bytes_of(view.dtype); }

constexpr const char* kTensor = "batch, heads, length, dim";
constexpr const char* kValues = "batch, heads, bands, rows, keys";

void check_shape(const char* name, const View& view, const std::vector<std::int64_t>& shape, SourceLoc loc) {
  if (view.shape == shape) return;
  throw UserError(
      loc, fmt::format("{} has the shape {}, expected [{}]", name, library::shape_text(view), fmt::join(shape, ", ")),
      "make the shapes agree");
}

}  // namespace

struct AcsrAttention::Impl {
  Acsr acsr;
  AcsrOptions options;
  AcsrLayout layout;
  std::vector<Stage> stages;

  void make_stages(SourceLoc loc) {
    for (const AcsrLaunch& launch : layout.launches) {
      const Mask mask = mask_of(acsr, layout, launch, loc);
      const bool half = options.dtype == DType::f16;
      stages.push_back(
          {launch, program(half ? acsr_scores.trace<f16>(mask) : acsr_scores.trace<bf16>(mask), {"Depth"}, loc),
           program(half ? acsr_softmax.trace<f16>(mask) : acsr_softmax.trace<bf16>(mask), {}, loc),
           program(half ? acsr_product.trace<f16>(mask) : acsr_product.trace<bf16>(mask), {"Value"}, loc)});
    }
  }

  Program program(Traced traced, const std::vector<const char*>& whole, SourceLoc loc) const {
    ProgramOptions o{.tiles = {{"Query", options.height}, {"Key", options.key_tile}}};
    for (const char* axis : whole)
      o.whole.push_back({axis, std::string(axis) == "Depth" ? options.head_dim : options.value_dim});
    return Program(std::move(traced), std::move(o), loc);
  }

  // Rows of a launch's bands: [bands, heads, rows of a band, columns].
  View rows_of(const View& all, std::int64_t batch, const AcsrLaunch& launch) const {
    const AcsrBand& band = layout.bands[launch.first];
    return part(all, batch, band.row, {band.rows, band.row_step, launch.row_distance}, launch);
  }
  View keys_of(const View& all, std::int64_t batch, const AcsrLaunch& launch) const {
    const AcsrBand& band = layout.bands[launch.first];
    return part(all, batch, band.key, {launch.width, band.key_step, launch.key_distance}, launch);
  }
  // Their rectangle of scores or probabilities.
  View values_of(const View& all, std::int64_t batch, const AcsrLaunch& launch) const {
    View view = all;
    view.data = static_cast<std::byte*>(all.data) +
                bytes_at(all, batch * all.strides[0] + static_cast<std::int64_t>(launch.first) * all.strides[2]);
    view.shape = {static_cast<std::int64_t>(launch.count), all.shape[1], layout.bands[launch.first].rows, launch.width};
    view.strides = {all.strides[2], all.strides[1], all.strides[3], all.strides[4]};
    return view;
  }

  struct Steps {
    std::int64_t count, step, distance;  // tokens of a band, from token to token, from band to band
  };
  static View part(const View& all, std::int64_t batch, std::int64_t first, const Steps& steps,
                   const AcsrLaunch& launch) {
    View view = all;
    const std::int64_t token = all.strides[2];
    view.data = static_cast<std::byte*>(all.data) + bytes_at(all, batch * all.strides[0] + first * token);
    view.shape[0] = static_cast<std::int64_t>(launch.count);
    view.strides[0] = launch.count > 1 ? steps.distance * token : steps.count * steps.step * token;
    view.shape[2] = steps.count;
    view.strides[2] = steps.step * token;
    return view;
  }
};

AcsrAttention::AcsrAttention(Acsr acsr, AcsrOptions options, SourceLoc loc) : impl_(std::make_unique<Impl>()) {
  if (options.dtype != DType::f16 && options.dtype != DType::bf16)
    throw UserError(loc, fmt::format("dtype is {}", name_of(options.dtype)), "give f16 or bf16");
  if (options.head_dim <= 0 || options.key_tile <= 0)
    throw UserError(loc, fmt::format("head_dim is {}, and a tile has {} keys", options.head_dim, options.key_tile),
                    "give 1 or more of each");
  if (options.value_dim == 0) options.value_dim = options.head_dim;
  if (!options.scale) options.scale = 1 / std::sqrt(static_cast<double>(options.head_dim));
  impl_->layout = acsr_layout(acsr, options.height, loc);
  impl_->acsr = std::move(acsr);
  impl_->options = options;
  impl_->make_stages(loc);
}

AcsrAttention::~AcsrAttention() = default;
AcsrAttention::AcsrAttention(AcsrAttention&&) noexcept = default;
AcsrAttention& AcsrAttention::operator=(AcsrAttention&&) noexcept = default;

const Acsr& AcsrAttention::acsr() const { return impl_->acsr; }
const AcsrLayout& AcsrAttention::layout() const { return impl_->layout; }

std::vector<std::int64_t> AcsrAttention::values_shape(std::int64_t batch, std::int64_t heads) const {
  const AcsrLayout& layout = impl_->layout;
  return {batch, heads, static_cast<std::int64_t>(layout.bands.size()), layout.height, (layout.width + 7) / 8 * 8};
}

void AcsrAttention::scores(const View& q, const View& k, const View& scores, void* stream, SourceLoc loc) {
  const AcsrOptions& o = impl_->options;
  library::check_view("q", q, o.dtype, 4, kTensor, loc);
  library::check_view("k", k, o.dtype, 4, kTensor, loc);
  library::check_view("scores", scores, DType::f32, 5, kValues, loc);
  const std::int64_t batch = q.shape[0], heads = q.shape[1], rows = static_cast<std::int64_t>(impl_->acsr.rows.size());
  check_shape("q", q, {batch, heads, rows, o.head_dim}, loc);
  check_shape("k", k, {batch, k.shape[1], impl_->acsr.columns, o.head_dim}, loc);
  check_shape("scores", scores, values_shape(batch, heads), loc);
  for (Stage& stage : impl_->stages)
    for (std::int64_t b = 0; b < batch; ++b)
      stage.scores.call({impl_->rows_of(q, b, stage.launch), impl_->keys_of(k, b, stage.launch),
                         impl_->values_of(scores, b, stage.launch), *o.scale},
                        stream, loc);
}

void AcsrAttention::softmax(const View& scores, const View& probabilities, const View& lse, void* stream,
                            SourceLoc loc) {
  library::check_view("scores", scores, DType::f32, 5, kValues, loc);
  library::check_view("probabilities", probabilities, impl_->options.dtype, 5, kValues, loc);
  library::check_view("lse", lse, DType::f32, 3, "batch, heads, length", loc);
  const std::int64_t batch = scores.shape[0], heads = scores.shape[1];
  const auto rows = static_cast<std::int64_t>(impl_->acsr.rows.size());
  check_shape("scores", scores, values_shape(batch, heads), loc);
  check_shape("probabilities", probabilities, values_shape(batch, heads), loc);
  check_shape("lse", lse, {batch, heads, rows}, loc);
  for (Stage& stage : impl_->stages)
    for (std::int64_t b = 0; b < batch; ++b)
      stage.softmax.call({impl_->values_of(scores, b, stage.launch), impl_->values_of(probabilities, b, stage.launch),
                          impl_->rows_of(lse, b, stage.launch)},
                         stream, loc);
}

void AcsrAttention::product(const View& probabilities, const View& v, const View& o, void* stream, SourceLoc loc) {
  const AcsrOptions& options = impl_->options;
  library::check_view("probabilities", probabilities, options.dtype, 5, kValues, loc);
  library::check_view("v", v, options.dtype, 4, kTensor, loc);
  library::check_view("o", o, options.dtype, 4, kTensor, loc);
  const std::int64_t batch = o.shape[0], heads = o.shape[1], rows = static_cast<std::int64_t>(impl_->acsr.rows.size());
  check_shape("probabilities", probabilities, values_shape(batch, heads), loc);
  check_shape("v", v, {batch, v.shape[1], impl_->acsr.columns, options.value_dim}, loc);
  check_shape("o", o, {batch, heads, rows, options.value_dim}, loc);
  for (Stage& stage : impl_->stages)
    for (std::int64_t b = 0; b < batch; ++b)
      stage.product.call({impl_->values_of(probabilities, b, stage.launch), impl_->keys_of(v, b, stage.launch),
                          impl_->rows_of(o, b, stage.launch)},
                         stream, loc);
}

}  // namespace tessera
