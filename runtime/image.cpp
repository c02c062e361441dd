#include <tessera/runtime/image.h>

#include <charconv>
#include <cstring>

namespace tessera::runtime {

namespace {

constexpr std::string_view magic = "TesseraImage 1\n";

// Fields one after the other: strings with their lengths, numbers as 8 bytes.
class Writer {
 public:
  void add(std::int64_t number) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_{magic};
};

// Reads them back. After the first field that is not there, everything is empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes), ok_(bytes.substr(0, magic.size()) == magic) {
    if (ok_) rest_.remove_prefix(magic.size());
  }
  std::int64_t number() {
    const std::string_view bytes = take(8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return static_cast<std::int64_t>(value);
  }
  int small() { return static_cast<int>(number()); }
  std::string text() { return std::string(take(static_cast<std::uint64_t>(number()))); }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool ok_;
};

// The number just before `unit` in `line`: 168 for " registers" in "Used 168 registers, ...". 0 if there is none.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + before.size());
  return line.substr(0, line.find(after));
}

// What follows "ptxas <kind>   : ", or follows it within "ptxas FILE, line N; <kind> : "; nothing for another kind.
std::optional<std::string_view> message(std::string_view line, std::string_view kind) {
  const std::size_t at = line.find(kind);
  if (at == std::string_view::npos || line.find("ptxas") != 0) return std::nullopt;
  const std::size_t colon = line.find_first_not_of(' ', at + kind.size());
  if (colon == std::string_view::npos || line[colon] != ':') return std::nullopt;
  const std::size_t begin = line.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

// "(C7510) Potential Performance Loss: ..." has the code C7510.
std::string_view advisory_code(std::string_view text) {
  const bool coded = text.substr(0, 2) == "(C" && text.find(')') != std::string_view::npos;
  return coded ? text.substr(1, text.find(')') - 1) : std::string_view();
}

void read_line(std::string_view line, AssemblyReport& report) {
  if (auto text = message(line, "warning")) {
    report.notes.push_back({std::string(advisory_code(*text)), std::string(*text)});
    return;
  }
  auto info = message(line, "info");
  if (info && !advisory_code(*info).empty()) {
    report.notes.push_back({std::string(advisory_code(*info)), std::string(*info)});
  } else if (info && info->find("Compiling entry function '") == 0) {
    report.kernels.emplace_back().entry = between(*info, "'", "'");
  } else if (report.kernels.empty()) {
    return;
  } else if (line.find(" bytes stack frame") != std::string_view::npos) {
    // Device functions that were not inlined report after the entry that calls them: what they spill is its spill.
    KernelUsage& kernel = report.kernels.back();
    kernel.stack_bytes += number_before(line, " bytes stack frame");
    kernel.spill_store_bytes += number_before(line, " bytes spill stores");
    kernel.spill_load_bytes += number_before(line, " bytes spill loads");
  } else if (info && info->find("Used ") == 0) {
    KernelUsage& kernel = report.kernels.back();
    kernel.registers = number_before(*info, " registers");
    kernel.barriers = number_before(*info, " barriers");
    kernel.shared_bytes = number_before(*info, " bytes smem");
  }
}

}  // namespace

const KernelUsage* AssemblyReport::find(std::string_view entry) const {
  for (const KernelUsage& kernel : kernels) {
    if (kernel.entry == entry) return &kernel;
  }
  return nullptr;
}

AssemblyReport parse_report(std::string_view text) {
  AssemblyReport report;
  report.text = text;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    read_line(line, report);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return report;
}

std::string serialise(const Image& image) {
  Writer writer;
  writer.add(static_cast<std::int64_t>(image.kind));
  writer.add(image.bytes);
  writer.add(image.assembler);
  writer.add(image.why_no_cubin);
  writer.add(image.optimization);
  writer.add(image.line_info);
  writer.add(image.report.text);
  return writer.take();
}

std::optional<Image> parse_image(std::string_view bytes) {
  Reader reader(bytes);
  Image image;
  const std::int64_t kind = reader.number();
  if (kind != 0 && kind != 1) return std::nullopt;
  image.kind = static_cast<Image::Kind>(kind);
  image.bytes = reader.text();
  image.assembler = reader.text();
  image.why_no_cubin = reader.text();
  image.optimization = reader.small();
  image.line_info = reader.small() != 0;
  image.report = parse_report(reader.text());
  if (!reader.at_end()) return std::nullopt;
  return image;
}

}  // namespace tessera::runtime
