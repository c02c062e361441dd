#include "geometry_catalogue.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "fuzz/random_masks.h"

namespace tessera::testing {

namespace {

double num(std::int64_t x) { return static_cast<double>(x); }
Expr same(Expr a, Expr b) { return a == b; }

class Catalogue {
 public:
  Catalogue(std::int64_t length, bool odd) : n_(length), odd_(odd) {}

  std::vector<GeometryMask> all() {
    bands();
    blocks();
    tables();
    strides();
    planes();
    volumes();
    for (GeometryMask& m : masks_)  // short axes leave digits without a value
      std::erase_if(m.systems, [](const std::vector<std::int64_t>& s) {
        return std::adjacent_find(s.begin(), s.end(), std::less_equal<>()) != s.end();
      });
    return std::move(masks_);
  }

 private:
  using Systems = std::vector<std::vector<std::int64_t>>;
  double pick(double even, double odd) const { return odd_ ? odd : even; }
  template <class F>
  void put(const char* name, const F& f, Systems systems = {}, std::int64_t queries = 0, std::int64_t keys = 0) {
    masks_.push_back({name, predicate("mask", f), queries ? queries : n_, keys ? keys : n_, std::move(systems)});
  }
  static std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

  void bands();
  void blocks();
  void tables();
  void strides();
  void planes();
  void volumes();

  std::int64_t n_;
  bool odd_;
  std::vector<GeometryMask> masks_;
};

void Catalogue::bands() {
  const double w = pick(256, 237), s = pick(4, 5), sinks = pick(512, 457);
  put("full", [](Args& a) { return a.q * 0.0 == 0.0; });
  put("causal", [](Args& a) { return a.k <= a.q; });
  put("window", [&](Args& a) { return abs(a.q - a.k) <= w; });
  put("window causal", [&](Args& a) { return (a.k <= a.q) & (a.q - a.k < w); });
  put("sinks", [&](Args& a) { return (a.k <= a.q) & ((a.k < s) | (a.q - a.k < sinks)); });
  put("tri shape",
      [&](Args& a) { return (a.k <= a.q) & ((a.k < s) | (a.q - a.k < sinks) | (a.q >= num(n_) - 100.0)); });
  put("prefix", [&](Args& a) { return (a.k < pick(512, 411)) | (a.k <= a.q); });
  const double g = pick(64, 45);
  put("longformer", [&](Args& a) { return (abs(a.q - a.k) <= w) | (a.q < g) | (a.k < g); });
  put("star", [&](Args& a) { return (abs(a.q - a.k) <= 1.0) | (a.q == 0.0) | (a.k == 0.0); });
  put("padding", [&](Args& a) { return a.k < num(n_) - pick(500, 333); });
  const double span = pick(32, 29);
  put("powers of two", [&](Args& a) {
    Expr e = a.q == a.k;
    for (std::int64_t d = 1; d < n_; d *= 2) e = e | (a.q - a.k == num(d));
    return (a.k <= a.q) & ((a.q - a.k < span) | e);
  });
}

void Catalogue::blocks() {
  const double b = pick(256, 200), c = pick(512, 300), small = pick(64, 50);
  put("own and previous block", [&](Args& a) { return ((a.q / b - 1.0) * b <= a.k) & (a.k < (a.q / b + 1.0) * b); },
      {{whole(b), 1}});
  put("chunked", [&](Args& a) { return a.q / c == a.k / c; }, {{whole(c), 1}});
  put("chunked causal", [&](Args& a) { return (a.q / c == a.k / c) & (a.k <= a.q); }, {{whole(c), 1}});
  put("chunked with left padding", [&](Args& a) { return same((a.q - 37.0) / c, (a.k - 37.0) / c) & (a.k <= a.q); });
  put("block causal", [&](Args& a) { return a.k / small <= a.q / small; }, {{whole(small), 1}});
  const std::int64_t half = n_ / 2;
  put("block diffusion",
      [&](Args& a) {
        const Expr x = (a.q % num(half)) / small, y = (a.k % num(half)) / small, p = a.q < num(half),
                   r = a.k < num(half);
        return ((x == y) & ((p & r) | ((!p) & (!r)))) | ((x > y) & p & (!r)) | ((x >= y) & (!p) & (!r));
      },
      {{half, whole(small), 1}});
}

void Catalogue::tables() {
  const Table doc = document_table(n_, 12, odd_ ? 5 : 3);
  const auto id = [&](Args& a, Expr at) { return a.read("doc", doc, {at}); };
  put("documents", [&](Args& a) { return id(a, a.q) == id(a, a.k); });
  put("documents causal", [&](Args& a) { return (id(a, a.q) == id(a, a.k)) & (a.k <= a.q); });
  Random random(7);
  std::vector<std::int32_t> buckets, flags(static_cast<std::size_t>(n_), 0);
  for (std::int64_t i = 0; i < n_; ++i) buckets.push_back(static_cast<std::int32_t>(random.below(16)));
  const Table bucket = table(buckets);
  put("hash buckets",
      [&](Args& a) { return same(a.read("bucket", bucket, {a.q}), a.read("bucket", bucket, {a.k})) & (a.k <= a.q); });
  for (int i = 0; i < 20; ++i) flags[static_cast<std::size_t>(random.below(n_))] = 1;
  const Table global = table(flags);
  put("scattered globals", [&](Args& a) {
    return (abs(a.q - a.k) <= pick(256, 211)) | (a.read("g", global, {a.q}) >= 1.0) |
           (a.read("g", global, {a.k}) >= 1.0);
  });
  const double b = pick(64, 48);
  const std::int64_t blocks = (n_ + whole(b) - 1) / whole(b);
  std::vector<std::int32_t> bits(static_cast<std::size_t>(blocks * blocks), 0);
  for (std::int64_t i = 0; i < 3 * blocks; ++i)
    bits[static_cast<std::size_t>(i / 3 * blocks + random.below(blocks))] = 1;
  const Table random_blocks = mask::TableData::make(bits, {blocks, blocks});
  put("bigbird",
      [&](Args& a) {
        const Expr i = a.q / b, j = a.k / b;
        return (abs(i - j) <= 1.0) | (i < 1.0) | (j < 1.0) | (a.read("bits", random_blocks, {i, j}) != 0.0);
      },
      {{whole(b), 1}});
  std::vector<std::int32_t> powers(static_cast<std::size_t>(n_), 0);
  for (std::int64_t d = 1; d < n_; d *= 2) powers[static_cast<std::size_t>(d)] = 1;
  const Table offsets = table(powers);
  put("powers of two by table",
      [&](Args& a) { return (a.k <= a.q) & (a.read("t", offsets, {max(a.q - a.k, number(a.q, 0))}) >= 1.0); });
}

void Catalogue::strides() {
  const double d = pick(4, 3), w = pick(64, 61), l = pick(64, 60);
  const Systems by_d{{whole(d), 1}}, by_l{{whole(l), 1}};
  put("dilated", [&](Args& a) { return (abs(a.q - a.k) <= w * d) & ((a.q - a.k) % d == 0.0); }, by_d);
  put("strided or local", [&](Args& a) { return (a.k <= a.q) & ((a.q - a.k < l) | ((a.q - a.k) % l == 0.0)); }, by_l);
  put("strided causal", [&](Args& a) { return (a.k <= a.q) & ((a.q - a.k) % l == 0.0); }, by_l);
  put("strided", [&](Args& a) { return (a.q - a.k) % l == 0.0; }, by_l);
  put("fixed", [&](Args& a) { return (a.k <= a.q) & ((a.q / l == a.k / l) | (a.k % l >= l - 8)); }, by_l);
  const double b = 64, local = pick(8, 7), stride = pick(8, 5);
  put("s2",
      [&](Args& a) {
        const Expr i = a.q / b, j = a.k / b;
        return (a.k <= a.q) & ((i - j < local) | ((j + 3.0) % stride == 0.0));
      },
      {{whole(b), 1}, {whole(b * stride), whole(b), 1}});
  const double block = pick(512, 480), s = pick(8, 6);
  put("strided in blocks", [&](Args& a) { return (a.q / block == a.k / block) & (a.q % s == 2.0) & (a.k % s == 2.0); },
      {{whole(s), 1}, {whole(block), whole(s), 1}});
  const double segment = pick(1024, 960), r = pick(4, 5);
  put("longnet",
      [&](Args& a) {
        return (a.q / segment == a.k / segment) & ((a.q % segment) % r == 1.0) & ((a.k % segment) % r == 1.0) &
               (a.k <= a.q);
      },
      {{whole(segment), whole(r), 1}});
}

void Catalogue::planes() {
  std::int64_t y = 45, x = std::max<std::int64_t>(4, n_ / 45);
  if (n_ == 2048) y = odd_ ? 31 : 32, x = odd_ ? 66 : 64;
  const double X = num(x);
  const std::int64_t tokens = y * x;
  const Systems rows{{x, 1}};
  const auto grid = [&](const char* name, const auto& f, Systems systems) {
    put(name, [&](Args& a) { return f(a.q / X, a.q % X, a.k / X, a.k % X); }, std::move(systems), tokens, tokens);
  };
  const std::int64_t wy = whole(pick(13, 9)), wx = whole(pick(13, 12)), d = whole(pick(2, 3)), dx = whole(pick(4, 3));
  masks_.push_back({"neighbourhood 1-D",
                    neighbourhood_grid({{tokens, whole(pick(65, 64)), whole(pick(1, 4))}}),
                    tokens,
                    tokens,
                    {}});
  masks_.push_back({"neighbourhood 2-D", neighbourhood_grid({{y, wy}, {x, wx}}), tokens, tokens, rows});
  masks_.push_back({"neighbourhood 2-D strided",
                    neighbourhood_grid({{y, 16, whole(pick(8, 5))}, {x, 16, whole(pick(8, 6))}}), tokens, tokens,
                    rows});
  masks_.push_back({"neighbourhood 2-D dilated",
                    neighbourhood_grid({{y, 7, 1, d}, {x, odd_ ? 5 : 4, whole(pick(1, 2)), dx}}),
                    tokens,
                    tokens,
                    {{x, 1}, {x * d, x, dx, 1}}});
  masks_.push_back({"neighbourhood 2-D causal", neighbourhood_grid({{y, wy, whole(pick(4, 3)), 1, true}, {x, wx}}),
                    tokens, tokens, rows});
  const double m = pick(8, 7), shift = m - num(whole(m) / 2), b = 8, h = 3;
  const Systems windows{{x, 1}, {x * whole(m), x, whole(m), 1}};
  grid("swin", [&](Expr qy, Expr qx, Expr ky, Expr kx) { return (qy / m == ky / m) & (qx / m == kx / m); }, windows);
  grid(
      "swin shifted",
      [&](Expr qy, Expr qx, Expr ky, Expr kx) {
        return ((qy + shift) / m == (ky + shift) / m) & ((qx + shift) / m == (kx + shift) / m);
      },
      windows);
  grid("halonet",
       [&](Expr qy, Expr qx, Expr ky, Expr kx) {
         const Expr y0 = qy / b * b, x0 = qx / b * b;
         return (y0 - h <= ky) & (ky < y0 + (b + h)) & (x0 - h <= kx) & (kx < x0 + (b + h));
       },
       {{x, 1}, {x * 8, x, 8, 1}});
  grid("axial", [](Expr qy, Expr qx, Expr ky, Expr kx) { return (qy == ky) | (qx == kx); }, rows);
  grid("axial column", [](Expr, Expr qx, Expr, Expr kx) { return qx == kx; }, rows);
}

void Catalogue::volumes() {
  const std::int64_t f = odd_ ? 7 : 8, y = odd_ ? 18 : 16, x = std::max<std::int64_t>(3, n_ / (f * y)), s = y * x;
  const std::int64_t tokens = f * s;
  const Systems all{{s, x, 1}};
  masks_.push_back(
      {"neighbourhood 3-D",
       neighbourhood_grid({{f, whole(pick(5, 4))}, {y, whole(pick(7, 8))}, {x, std::min<std::int64_t>(x, 9)}}), tokens,
       tokens, all});
  masks_.push_back({"neighbourhood 3-D strided",
                    neighbourhood_grid({{f, 4, 2}, {y, 8, whole(pick(4, 3))}, {x, std::min<std::int64_t>(x, 8), 3}}),
                    tokens, tokens, all});
  std::vector<std::int32_t> width, kept;
  for (std::int64_t d = 0; d <= f; ++d) {
    const std::int64_t bits =
        std::bit_width(static_cast<std::uint64_t>(s)) - std::bit_width(static_cast<std::uint64_t>(d));
    width.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(std::int64_t{1} << bits, 32)));
    kept.push_back(d < 4 || d % 2 == 0);
  }
  const Table widths = table(width), keeps = table(kept);
  put(
      "radial",
      [&](Args& a) {
        const double S = num(s);
        const Expr gap = abs(a.q / S - a.k / S);
        const Expr near = abs(a.q % S - a.k % S) <= a.read("width", widths, {gap});
        return (a.k / S == 0.0) | (gap <= 1.0) | (near & (a.read("kept", keeps, {gap}) >= 1.0));
      },
      {{s, 1}, {s, x, 1}}, tokens, tokens);
  const double text = num(tokens), w = num(s / 8);
  put(
      "temporal with text",
      [&](Args& a) { return (a.q >= text) | (a.k >= text) | (abs(a.q % num(s) - a.k % num(s)) < w); }, {{s, 1}},
      tokens + 50, tokens + 50);
  put("temporal split", [&](Args& a) { return a.q % num(s) == a.k % num(s); }, {{s, 1}}, tokens, tokens);
  put("spatial split", [&](Args& a) { return a.q / num(s) == a.k / num(s); }, {{s, 1}}, tokens, tokens);
}

}  // namespace

Expr neighbourhood(Expr q, Expr k, const Neighbourhood& axis) {
  const double d = num(axis.dilation), s = num(axis.stride);
  const double left = num(axis.window / 2), right = num(axis.window - 1 - axis.window / 2);
  const Expr p = axis.dilation > 1 ? q / d : q, r = axis.dilation > 1 ? k / d : k;
  const Expr members = axis.dilation == 1            ? number(q, num(axis.extent))
                       : axis.extent % axis.dilation ? (num(axis.extent + axis.dilation - 1) - q % d) / d
                                                     : number(q, num(axis.extent / axis.dilation));
  const Expr base = axis.stride > 1 ? p / s * s : p;
  Expr allowed;
  if (axis.causal) {
    const Expr leader = min(base + (s - 1), members - 1.0);
    allowed = (max(leader - num(axis.window - 1), number(q, 0)) <= r) & (r <= p);
  } else {
    const Expr leader = min(base + num(axis.stride / 2), members - 1.0);
    const Expr centre = min(max(leader, number(q, left)), members - (1 + right));
    allowed = (centre - left <= r) & (r <= centre + right);
  }
  return axis.dilation > 1 ? allowed & ((q - k) % d == 0.0) : allowed;
}

mask::Pointwise neighbourhood_grid(const std::vector<Neighbourhood>& axes) {
  return predicate("neighbourhood", [&](Args& a) {
    std::int64_t stride = 1;
    for (const Neighbourhood& axis : axes) stride *= axis.extent;
    Expr all;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      stride /= axes[i].extent;
      const auto coordinate = [&](Expr token) {
        const Expr row = stride == 1 ? token : token / num(stride);
        return i == 0 ? row : row % num(axes[i].extent);
      };
      const Expr one = neighbourhood(coordinate(a.q), coordinate(a.k), axes[i]);
      all = i == 0 ? one : all & one;
    }
    return all;
  });
}

Table document_table(std::int64_t length, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::set<std::int64_t> starts;
  while (static_cast<std::int64_t>(starts.size()) < std::min(count, length) - 1)
    starts.insert(random.between(1, length - 1));
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < length; ++i)
    ids.push_back(i == 0 ? 0 : ids.back() + static_cast<std::int32_t>(starts.count(i)));
  return table(std::move(ids));
}

std::vector<GeometryMask> geometry_catalogue(std::int64_t length, bool odd) { return Catalogue(length, odd).all(); }

}  // namespace tessera::testing
