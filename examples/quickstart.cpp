// Sliding-window attention over the Q, K and V of a real language model: where it ran, what the mask's geometry allowed
// to skip, how far it is from the same computation in fp64, and where each stage of the compiler can be read.
//
//   quickstart INPUT.safetensors OUTPUT_FOLDER [WINDOW]
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <tessera/library/devices.h>
#include <tessera/runtime/memory.h>
#include <tessera/tessera.h>

#include "support.h"

using namespace tessera;

namespace {

example::Tensor tensor_of(SafeTensors& file, const std::string& name, const std::string& path) {
  const HostTensor& from = file.at(name, path);  // [1, heads, tokens, dim]
  example::Tensor tensor(from.shape.at(1), from.shape.at(2), from.shape.at(3));
  std::memcpy(tensor.bits.data(), from.data.data(), from.data.size());
  return tensor;
}

// A copy of a tensor in the GPU's memory.
struct OnDevice {
  OnDevice(const runtime::Device& device, example::Tensor& tensor)
      : host(tensor), buffer(device, static_cast<std::int64_t>(tensor.bits.size() * sizeof(tensor.bits[0]))) {
    runtime::copy_to_device(device, buffer.address(), host.bits.data(), buffer.bytes());
  }
  View view() const {
    View view = host.view();
    view.data = buffer.data();
    view.memory = Memory::device;
    return view;
  }
  void fetch() const { runtime::copy_to_host(buffer.device(), host.bits.data(), buffer.address(), buffer.bytes()); }

  example::Tensor& host;
  runtime::DeviceBuffer buffer;
};

// Runs where its tensors are: on the GPU if there is one, else here, by interpretation.
void run(Attention& attend, example::Tensor& q, example::Tensor& k, example::Tensor& v, example::Tensor& o) {
  if (const runtime::Device* device = library::default_device()) {
    const OnDevice dq(*device, q), dk(*device, k), dv(*device, v), result(*device, o);
    attend({.q = dq.view(), .k = dk.view(), .v = dv.view(), .o = result.view()});
    result.fetch();
  } else {
    fmt::print("no GPU is used: {}\n", library::why_no_device());
    attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  }
}

void write_stages(const Attention& attend, const std::filesystem::path& folder) {
  const std::pair<const char*, std::function<std::string()>> stages[] = {
      {"traced.ir", [&] { return attend.ir(ir::Stage::traced); }},
      {"tiled.ir", [&] { return attend.ir(ir::Stage::tiled); }},
      {"placed.ir", [&] { return attend.ir(ir::Stage::placed); }},
      {"kernel.ll", [&] { return attend.llvm_ir(); }},
      {"kernel.ptx", [&] { return attend.ptx(); }},
      {"kernel.cubin", [&] { return attend.cubin(); }}};
  std::filesystem::create_directories(folder);
  fmt::print("\nevery stage of the compiler is in {}\n", folder.string());
  for (const auto& [name, text] : stages) {
    try {
      std::ofstream(folder / name, std::ios::binary) << text();
      fmt::print("  {}\n", name);
    } catch (const UserError& error) {
      std::filesystem::remove(folder / name);
      fmt::print("  no {}: {}\n", name, error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("quickstart INPUT.safetensors OUTPUT_FOLDER [WINDOW]");
  const std::string input = argv[1];
  const int width = argc > 3 ? std::atoi(argv[3]) : 256;
  if (width <= 0) throw std::runtime_error(fmt::format("WINDOW is '{}': give the number of keys, 1 or more", argv[3]));

  SafeTensors file = SafeTensors::read(input);
  auto q = tensor_of(file, "q", input), k = tensor_of(file, "k", input), v = tensor_of(file, "v", input);
  auto o = example::Tensor(q.heads, q.tokens, v.dim);
  fmt::print("{}: {} tokens, {} query heads, {} key heads, head dim {}\n", input, q.tokens, q.heads, k.heads, q.dim);

  Mask recent = [width](Position q, Position k) { return k <= q && q - k < width; };
  Attention attend({.mask = recent, .dtype = bf16, .head_dim = static_cast<int>(q.dim)});
  run(attend, q, k, v, o);
  fmt::print("{}\n", attend.explain());

  const double error = example::largest_error(q, k, v, o, [width](auto i, auto j) { return j <= i && i - j < width; });
  fmt::print("largest error against fp64: {:.2e}\n", error);
  write_stages(attend, argv[2]);
  return error < 0.02 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
