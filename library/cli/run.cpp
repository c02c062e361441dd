// tessera run: attention over the tensors of a file.
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tessera/library/cli/commands.h>
#include <tessera/library/devices.h>
#include <tessera/library/elapsed.h>
#include <tessera/library/safetensors.h>
#include <tessera/runtime/memory.h>

namespace tessera::cli {

namespace {

constexpr std::size_t kRank = 4;

HostTensor& tensor(SafeTensors& file, const std::string& name, const std::string& path) {
  HostTensor& found = file.at(name, path);
  if (found.shape.size() != kRank) {
    throw UserError({}, fmt::format("{}: tensor '{}' has {} dims", path, name, found.shape.size()),
                    "give it the shape [batch, heads, length, dim]");
  }
  return found;
}

// Views of the file's tensors where the call wants them: in host memory, or in copies on a device.
class Workspace {
 public:
  explicit Workspace(const runtime::Device* device) : device_(device) {}

  View input(HostTensor& tensor) {
    View view = output(tensor);
    if (device_)
      runtime::copy_to_device(*device_, buffers_.back().address(), tensor.data.data(), buffers_.back().bytes());
    return view;
  }
  View output(HostTensor& tensor) {
    if (!device_) return tensor.view();
    buffers_.emplace_back(*device_, static_cast<std::int64_t>(tensor.data.size()));
    return View::contiguous(buffers_.back().data(), tensor.dtype, tensor.shape, Memory::device);
  }
  void fetch(const View& view, HostTensor& tensor) {
    if (!device_) return;
    device_->synchronize();
    runtime::copy_to_host(*device_, tensor.data.data(), reinterpret_cast<std::uint64_t>(view.data),
                          static_cast<std::int64_t>(tensor.data.size()));
  }

 private:
  const runtime::Device* device_;
  std::vector<runtime::DeviceBuffer> buffers_;
};

// Refuses an output that would replace the input, however it is spelled, or that cannot be where it is said to be:
// before the work, not after it.
void check_output(const std::string& input, const std::string& output) {
  namespace fs = std::filesystem;
  std::error_code missing;  // of either file: then they are not the same
  if (fs::equivalent(input, output, missing)) {
    throw UserError({}, fmt::format("--output {} is the file of --input {}", output, input),
                    "give --output a file of its own: the input is not overwritten");
  }
  if (fs::is_directory(output, missing))
    throw UserError({}, fmt::format("--output {} is a folder", output), "give the name of a file");
  // A new file takes the place of the old one, which must not be a device or a pipe.
  if (fs::exists(output, missing) && !fs::is_regular_file(output, missing))
    throw UserError({}, fmt::format("--output {} is not a regular file", output), "give the name of a file");
  const fs::path folder = fs::path(output).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, missing)) {
    throw UserError({}, fmt::format("--output {} is in a folder that does not exist", output),
                    fmt::format("make the folder {}", folder.string()));
  }
}

const runtime::Device* choose_device(const std::string& wanted) {
  if (wanted == "cpu") return nullptr;
  const runtime::Device* device = library::default_device();
  if (!device && wanted == "gpu")
    throw UserError({}, "there is no GPU: " + library::why_no_device(), "use --device cpu");
  return device;
}

AttentionOptions options_for(Arguments arguments, HostTensor& q, HostTensor& v, bool bias) {
  arguments.dtype = name_of(q.dtype);
  arguments.heads = q.shape[1];
  arguments.head_dim = static_cast<int>(std::min<std::int64_t>(q.shape[3], INT32_MAX));
  arguments.value_dim = static_cast<int>(std::min<std::int64_t>(v.shape[3], INT32_MAX));
  AttentionOptions options = arguments.options();
  if (!bias) return options;
  std::vector<Score> scores(options.scores.begin(), options.scores.end());
  scores.push_back(dense_bias("bias", SourceLoc{}));
  options.scores = std::move(scores);
  return options;
}

std::string report(const Attention& attend, const Arguments& arguments, double ms) {
  if (!arguments.json)
    return attend.explain(SourceLoc{}) + fmt::format("run        {:.2f} ms, wrote {}\n", ms, arguments.output);
  auto text = nlohmann::ordered_json::parse(attend.explain_json(SourceLoc{}));
  text["run_ms"] = ms;
  text["output"] = arguments.output;
  return text.dump(2) + "\n";
}

}  // namespace

std::string run(const Arguments& arguments) {
  check_output(arguments.input, arguments.output);
  SafeTensors file = SafeTensors::read(arguments.input);
  HostTensor &q = tensor(file, "q", arguments.input), &k = tensor(file, "k", arguments.input),
             &v = tensor(file, "v", arguments.input);
  arguments.check_tokens(q.shape[2], k.shape[2]);
  bool bias = file.tensors.count("bias") != 0, lengths = file.tensors.count("key_lengths") != 0;
  Workspace memory(choose_device(arguments.device));
  Attention attend(options_for(arguments, q, v, bias), SourceLoc{});

  SafeTensors result;
  result.metadata = {{"pattern", arguments.pattern}};
  HostTensor& o = result.tensors["o"] = HostTensor::zeros(q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  HostTensor& lse = result.tensors["lse"] = HostTensor::zeros(DType::f32, {q.shape[0], q.shape[1], q.shape[2]});
  AttentionCall call{.q = memory.input(q),
                     .k = memory.input(k),
                     .v = memory.input(v),
                     .o = memory.output(o),
                     .lse = memory.output(lse)};
  if (bias) call.tables = {{"bias", memory.input(file.at("bias", arguments.input))}};
  if (lengths) call.key_lengths = file.at("key_lengths", arguments.input).view();

  auto start = std::chrono::steady_clock::now();
  attend(call, SourceLoc{});
  memory.fetch(call.o, o);
  memory.fetch(call.lse, lse);
  const double ms = library::ms_since(start);
  result.write(arguments.output);
  return report(attend, arguments, ms);
}

}  // namespace tessera::cli
