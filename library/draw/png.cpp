#include <algorithm>
#include <array>

#include <zlib.h>

#include <tessera/library/draw/picture.h>

namespace tessera::draw {

namespace {

enum Colour : unsigned char { kPaper, kEmpty, kPartial, kFull, kFrame, kColours };
constexpr unsigned char kPalette[3 * kColours] = {255, 255, 255, 248, 248, 248, 156, 196,
                                                  228, 27,  79,  114, 187, 187, 187};
constexpr std::int64_t kPixels = 512, kBetween = 24, kAround = 12;

void append(std::string& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
}

// Length, type, data, checksum.
void append_chunk(std::string& png, const std::string& type, const std::string& data) {
  append(png, static_cast<std::uint32_t>(data.size()));
  const std::string body = type + data;
  png += body;
  append(png, static_cast<std::uint32_t>(
                  crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

std::string compressed(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                               data.size(), Z_BEST_COMPRESSION);
  ensure(result == Z_OK, "a buffer of compressBound bytes is enough for zlib");
  out.resize(size);
  return out;
}

struct Image {
  std::int64_t width, height;
  std::vector<unsigned char> pixels;
  void set(std::int64_t x, std::int64_t y, Colour colour) { pixels[static_cast<std::size_t>(y * width + x)] = colour; }
};

struct Size {
  std::int64_t width, height;
};

// A box is a whole number of pixels, the same both ways where boxes are square; small views are enlarged.
Size size_of(const TileView& view) {
  const std::int64_t longer = std::max<std::int64_t>({view.queries, view.keys, 1});
  const auto side = [&](std::int64_t tokens, std::int64_t boxes) {
    const std::int64_t pixels = std::max<std::int64_t>(kPixels * tokens / longer, 1);
    return std::max(std::max<std::int64_t>(pixels / std::max<std::int64_t>(boxes, 1), 1) * boxes, std::int64_t{1});
  };
  return {side(view.keys, view.columns), side(view.queries, view.rows)};
}

void paint(Image& image, const TileView& view, std::int64_t left, std::int64_t top) {
  constexpr Colour colours[] = {kEmpty, kPartial, kFull};
  const Size size = size_of(view);
  for (std::int64_t y = -1; y <= size.height; ++y)
    for (std::int64_t x = -1; x <= size.width; ++x) {
      const bool inside = x >= 0 && y >= 0 && x < size.width && y < size.height && !view.kinds.empty();
      image.set(left + x, top + y,
                inside ? colours[static_cast<int>(view.at(y * view.rows / size.height, x * view.columns / size.width))]
                       : kFrame);
    }
}

}  // namespace

std::string to_png(const std::vector<Panel>& panels) {
  Image image{2 * kAround - kBetween, 0, {}};
  for (const Panel& panel : panels) {
    const Size size = size_of(panel.view);
    image.width += size.width + kBetween;
    image.height = std::max(image.height, size.height + 2 * kAround);
  }
  ensure(!panels.empty(), "a picture has at least one panel");
  image.pixels.assign(static_cast<std::size_t>(image.width * image.height), kPaper);
  std::int64_t left = kAround;
  for (const Panel& panel : panels) {
    paint(image, panel.view, left, kAround);
    left += size_of(panel.view).width + kBetween;
  }

  std::string rows;  // each behind the number of its filter: none
  for (std::int64_t y = 0; y < image.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(&image.pixels[static_cast<std::size_t>(y * image.width)]),
                static_cast<std::size_t>(image.width));
  }
  std::string header, png = "\x89PNG\r\n\x1a\n";
  append(header, static_cast<std::uint32_t>(image.width));
  append(header, static_cast<std::uint32_t>(image.height));
  header += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits a pixel, of a palette
  append_chunk(png, "IHDR", header);
  append_chunk(png, "PLTE", std::string(reinterpret_cast<const char*>(kPalette), sizeof kPalette));
  append_chunk(png, "IDAT", compressed(rows));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace tessera::draw
