#include "library/order_cases.h"

#include <cstdlib>

#include <tessera/dsl/mask/choose_plan.h>
#include <tessera/library/plan_maker.h>

#include "dsl/mask/order_plans.h"

namespace tessera::test {

namespace {

using mask::Order;
using testing::AllowedPair;
using testing::Lengths;

AllowedPair pairs_of(const Case& c) {
  return [allowed = c.allowed](std::int64_t q, std::int64_t k) { return allowed({0, 0, q, k}); };
}

void plan_with(Case& c, std::function<mask::Plan(Lengths)> make) {
  c.plan_maker = std::make_shared<const library::PlanMaker>(
      library::PlanMaker{[make = std::move(make)](const mask::Pointwise&, const mask::PlanRequest& r) {
        mask::Plan plan = make({r.query_length, r.key_length});
        if (!r.key_lengths.empty()) testing::make_partial(plan);
        return plan;
      }});
}

void by_lists(Case& c, const Order& queries, const Order& keys) {
  plan_with(c, [queries, keys, pairs = pairs_of(c)](Lengths lengths) {
    return testing::plan_of(queries, {testing::listed(queries, keys, lengths, pairs)});
  });
}

void by_spans(Case& c, const Order& queries, const Order& keys, const std::vector<int>& reach) {
  plan_with(c, [=](Lengths) { return testing::plan_of(queries, {testing::box_window(queries, keys, reach)}); });
}

// The plan that is found without help, on a device so small that every launch is worth a search.
void as_chosen(Case& c, std::size_t passes = 1) {
  c.plan_maker = std::make_shared<const library::PlanMaker>(
      library::PlanMaker{[passes](const mask::Pointwise& predicate, const mask::PlanRequest& request) {
        mask::TargetCosts costs;
        costs.rates = {{128, 1e12}, {64, 0.8e12}};
        costs.depth = costs.value = 64;
        costs.processors = 1;
        const mask::Plan plan = mask::choose_plan(predicate, request, costs);
        ensure(!mask::is_plain(plan), "a plan in token orders");
        ensure(plan.passes.size() == passes, "a chain where the case wants one");
        return plan;
      }});
}

void tokens(Case& c, std::int64_t queries, std::int64_t keys) { c.queries = queries, c.keys = keys; }

void near(Case& c, int columns, int down, int across) {
  c.mask = [=](Position q, Position k) {
    return abs(q / columns - k / columns) <= down && abs(q % columns - k % columns) <= across;
  };
  c.allowed = [=](const Pair& p) {
    return std::abs(p.q / columns - p.k / columns) <= down && std::abs(p.q % columns - p.k % columns) <= across;
  };
}

void dilated(Case& c, int step, int reach) {
  c.mask = [=](Position q, Position k) { return abs(q - k) <= step * reach && (q - k) % step == 0; };
  c.allowed = [=](const Pair& p) { return std::abs(p.q - p.k) <= step * reach && (p.q - p.k) % step == 0; };
}

void causal_top_left(Case& c) {
  c.mask = causal(Align::top_left);
  c.allowed = [](const Pair& p) { return p.k <= p.q; };
}

void video(Case& c, int frame, int columns, int frames, int down, int across) {
  c.mask = [=](Position q, Position k) {
    return abs(q / frame - k / frame) <= frames && abs(q % frame / columns - k % frame / columns) <= down &&
           abs(q % columns - k % columns) <= across;
  };
  c.allowed = [=](const Pair& p) {
    return std::abs(p.q / frame - p.k / frame) <= frames &&
           std::abs(p.q % frame / columns - p.k % frame / columns) <= down &&
           std::abs(p.q % columns - p.k % columns) <= across;
  };
}

// Windows of 7 x 7, shifted by 3 against the corner.
void shifted_windows(Case& c, int columns) {
  c.mask = [=](Position q, Position k) {
    return (q / columns + 4) / 7 == (k / columns + 4) / 7 && (q % columns + 4) / 7 == (k % columns + 4) / 7;
  };
  c.allowed = [=](const Pair& p) {
    return (p.q / columns + 4) / 7 == (p.k / columns + 4) / 7 && (p.q % columns + 4) / 7 == (p.k % columns + 4) / 7;
  };
}

// Rows and columns of one parity, near each other.
void dilated_grid(Case& c, int columns, int reach) {
  c.mask = [=](Position q, Position k) {
    return (q / columns - k / columns) % 2 == 0 && (q - k) % 2 == 0 && abs(q / columns - k / columns) <= reach &&
           abs(q % columns - k % columns) <= reach;
  };
  c.allowed = [=](const Pair& p) {
    return (p.q / columns - p.k / columns) % 2 == 0 && (p.q - p.k) % 2 == 0 &&
           std::abs(p.q / columns - p.k / columns) <= reach && std::abs(p.q % columns - p.k % columns) <= reach;
  };
}

// Blocks of 64, and the last 8 of every 64 for all: two sources in orders of their own.
void fixed(Case& c) {
  c.mask = [](Position q, Position k) { return q / 64 == k / 64 || k % 64 >= 56; };
  c.allowed = [](const Pair& p) { return p.q / 64 == p.k / 64 || p.k % 64 >= 56; };
  const Mask block = [](Position q, Position k) { return q / 64 == k / 64 && k % 64 < 56; };
  const Mask columns = [](Position, Position k) { return k % 64 >= 56; };
  plan_with(c, [block, columns](Lengths lengths) {
    const Order queries = Order::identity(128), local = Order::identity(64), last{{{64, 12}, {1, 8}}};
    mask::Source first = testing::listed(
        queries, local, lengths, [](std::int64_t q, std::int64_t k) { return q / 64 == k / 64 && k % 64 < 56; });
    mask::Source second =
        testing::listed(queries, last, lengths, [](std::int64_t, std::int64_t k) { return k % 64 >= 56; });
    first.part = std::make_shared<const mask::Pointwise>(block.predicate());
    second.part = std::make_shared<const mask::Pointwise>(columns.predicate());
    return testing::plan_of(queries, {first, second});
  });
}

// What a pass sees of a case's pairs, as its kernel asks it and as its list is made.
struct Share {
  Order queries, keys;
  Mask mask;
  AllowedPair allowed;
};

void chained(Case& c, const Share& first, const Share& second) {
  c.chained = true;
  c.mask = first.mask | second.mask;
  c.allowed = [first = first.allowed, second = second.allowed](const Pair& p) {
    return first(p.q, p.k) || second(p.q, p.k);
  };
  plan_with(c, [first, second](Lengths lengths) {
    mask::Plan plan;
    for (const Share& share : {first, second}) {
      mask::Source source = testing::listed(share.queries, share.keys, lengths, share.allowed);
      source.part = std::make_shared<const mask::Pointwise>(share.mask.predicate());
      plan.passes.push_back(testing::plan_of(share.queries, {std::move(source)}).passes[0]);
    }
    return plan;
  });
}

// The row of a grid, then the rest of the column.
void cross(Case& c, int columns) {
  chained(c,
          {Order::identity(64), Order::identity(80), [=](Position q, Position k) { return q / columns == k / columns; },
           [=](std::int64_t q, std::int64_t k) { return q / columns == k / columns; }},
          {{{{columns, 64}, {1, 1}}},
           {{{columns, 48}, {1, 1}}},
           [=](Position q, Position k) { return q % columns == k % columns && q / columns != k / columns; },
           [=](std::int64_t q, std::int64_t k) { return q % columns == k % columns && q / columns != k / columns; }});
}

// Neighbours for the first 200 queries, every 32nd key for those from 150 on but for every fifth: of the rows some see
// keys in both passes, some in one of them, and some nowhere.
void sparse_rows(Case& c) {
  chained(
      c,
      {Order::identity(128), Order::identity(64), [](Position q, Position k) { return q < 200 && abs(q - k) <= 20; },
       [](std::int64_t q, std::int64_t k) { return q < 200 && std::abs(q - k) <= 20; }},
      {{{{32, 64}, {1, 1}}},
       {{{32, 16}, {1, 1}}},
       [](Position q, Position k) {
         return q >= 150 && q % 5 != 2 && (q - k) % 32 == 0 && (q >= 200 || abs(q - k) > 20);
       },
       [](std::int64_t q, std::int64_t k) {
         return q >= 150 && q % 5 != 2 && (q - k) % 32 == 0 && (q >= 200 || std::abs(q - k) > 20);
       }});
}

void axial_or_near(Case& c, int columns) {
  c.chained = true;  // as the planner finds
  c.mask = [=](Position q, Position k) { return q % columns == k % columns || abs(q - k) <= 10; };
  c.allowed = [=](const Pair& p) { return p.q % columns == p.k % columns || std::abs(p.q - p.k) <= 10; };
}

void ends(Case& c, std::vector<std::int64_t> lengths) {
  for (std::int64_t b = 0; b < c.batch; ++b)
    c.key_lengths.push_back(lengths[static_cast<std::size_t>(b) % lengths.size()]);
}

}  // namespace

const std::vector<OrderCase>& order_cases() {
  static const std::vector<OrderCase> cases = {
      {"grid 24 x 32, boxes, lists",
       [](Case& c) {
         tokens(c, 768, 768), near(c, 32, 5, 7);
         by_lists(c, {{{32, 8}, {1, 16}}}, {{{32, 8}, {1, 16}}});
       }},
      {"grid 24 x 32, boxes, spans",
       [](Case& c) {
         tokens(c, 768, 768), near(c, 32, 9, 12);
         by_spans(c, {{{32, 8}, {1, 16}}}, {{{32, 4}, {1, 16}}}, {9, 12});
       }},
      {"grid of 26 columns, boxes beyond its edges, spans",
       [](Case& c) {
         tokens(c, 494, 494), near(c, 26, 8, 8);
         by_spans(c, {{{26, 8}, {1, 8}}}, {{{26, 6}, {1, 12}}}, {8, 8});
       }},
      {"queries of a grid, keys in the order of memory",
       [](Case& c) {
         tokens(c, 500, 600), near(c, 32, 3, 4);
         by_lists(c, {{{32, 4}, {1, 16}}}, Order::identity(80));
       }},
      {"queries in the order of memory, keys of a grid",
       [](Case& c) {
         tokens(c, 600, 512), near(c, 32, 3, 4);
         by_lists(c, Order::identity(128), {{{32, 8}, {1, 8}}});
       }},
      {"residues mod 3 of a length that they do not divide, lists",
       [](Case& c) {
         tokens(c, 500, 500), dilated(c, 3, 40);
         by_lists(c, {{{3, 64}, {1, 1}}}, {{{3, 80}, {1, 1}}});
       }},
      {"residues mod 4, spans",
       [](Case& c) {
         tokens(c, 1000, 1000), dilated(c, 4, 70);
         by_spans(c, {{{4, 128}, {1, 1}}}, {{{4, 64}, {1, 1}}}, {70, 0});
       }},
      {"residues mod 96 of 8190 tokens, whose last value has fewer",
       [](Case& c) {
         tokens(c, 8190, 8190), dilated(c, 96, 200);
         by_spans(c, {{{96, 128}, {1, 1}}}, {{{96, 96}, {1, 1}}}, {200, 0});
       }},
      {"fewer tokens than residues",
       [](Case& c) {
         tokens(c, 50, 50), dilated(c, 64, 1);
         by_lists(c, {{{64, 64}, {1, 1}}}, {{{64, 64}, {1, 1}}});
       }},
      {"windows of 7 x 7 with origins, padded to 64 rows",
       [](Case& c) {
         tokens(c, 784, 784), shifted_windows(c, 28);
         by_lists(c, {{{28, 7, 4}, {1, 7, 4}}}, {{{28, 7, 4}, {1, 7, 4}}});
       }},
      {"windows of 7 x 7 of a grid of 30 columns without its last token",
       [](Case& c) {
         tokens(c, 899, 899), shifted_windows(c, 30);
         by_lists(c, {{{30, 7, 4}, {1, 7, 4}}}, {{{30, 7, 4}, {1, 14, 4}}});
       }},
      {"blocks of 100, the last one cut",
       [](Case& c) {
         tokens(c, 450, 450);
         c.mask = [](Position q, Position k) { return q / 100 == k / 100 && k <= q; };
         c.allowed = [](const Pair& p) { return p.q / 100 == p.k / 100 && p.k <= p.q; };
         by_lists(c, {{{100, 1}, {1, 64}}}, {{{100, 1}, {1, 48}}});
       }},
      {"a shifted order of memory",
       [](Case& c) {
         tokens(c, 300, 333), causal_top_left(c);
         by_lists(c, {{{1, 64, 13}}}, {{{1, 96, 50}}});
       }},
      {"boxes of several rows of a grid that ends within a row",
       [](Case& c) {
         tokens(c, 410, 410), near(c, 20, 5, 20);
         by_lists(c, {{{20, 4}, {1, 16}}}, {{{20, 6}, {1, 10}}});
       }},
      {"three dimensions",
       [](Case& c) {
         tokens(c, 960, 960), video(c, 192, 16, 1, 4, 5);
         by_lists(c, {{{192, 2}, {16, 4}, {1, 16}}}, {{{192, 1}, {16, 6}, {1, 16}}});
       }},
      {"three dimensions, the middle digit beyond its edge",
       [](Case& c) {
         tokens(c, 2560, 2560), video(c, 160, 32, 1, 2, 5);
         by_lists(c, {{{160, 2}, {32, 2}, {1, 16}}}, {{{160, 1}, {32, 2}, {1, 16}}});
       }},
      {"three dimensions, the middle digit beyond its edge, and an incomplete frame",
       [](Case& c) {
         tokens(c, 1277, 1277), video(c, 160, 32, 1, 2, 5);
         by_lists(c, {{{160, 1}, {32, 8}, {1, 16}}}, {{{160, 1}, {32, 2}, {1, 16}}});
       }},
      {"three dimensions, boxes beyond the edges, spans",
       [](Case& c) {
         tokens(c, 600, 600), video(c, 120, 10, 1, 5, 3);
         by_spans(c, {{{120, 2}, {10, 4}, {1, 8}}}, {{{120, 2}, {10, 5}, {1, 8}}}, {1, 5, 3});
       }},
      {"a dilated grid: four digits",
       [](Case& c) {
         tokens(c, 1024, 1024), dilated_grid(c, 32, 9);
         by_lists(c, {{{64, 8}, {32, 1}, {2, 16}, {1, 1}}}, {{{64, 8}, {32, 1}, {2, 12}, {1, 1}}});
       }},
      {"a weight that does not divide the one before",
       [](Case& c) {
         tokens(c, 245, 245), causal_top_left(c);
         by_lists(c, {{{20, 4}, {3, 4}, {1, 3}}}, {{{20, 4}, {3, 7}, {1, 3}}});
       }},
      {"two sources in orders of their own", [](Case& c) { tokens(c, 700, 700), fixed(c); }},
      {"residues, keys of each sequence end where it says",
       [](Case& c) {
         tokens(c, 400, 400), dilated(c, 5, 30);
         ends(c, {399, 133});
         by_lists(c, {{{5, 64}, {1, 1}}}, {{{5, 48}, {1, 1}}});
       }},
      {"a grid, keys of each sequence end where it says",
       [](Case& c) {
         tokens(c, 512, 512), near(c, 32, 4, 6);
         ends(c, {512, 77});
         by_lists(c, {{{32, 4}, {1, 16}}}, {{{32, 8}, {1, 16}}});
       }},
      {"a grid, as planned", [](Case& c) { tokens(c, 1536, 1536), near(c, 64, 4, 4), as_chosen(c); }},
      {"a grid that ends within a row, as planned",
       [](Case& c) { tokens(c, 1000, 1000), near(c, 48, 3, 4), as_chosen(c); }},
      {"residues mod 4, as planned", [](Case& c) { tokens(c, 1000, 1000), dilated(c, 4, 40), as_chosen(c); }},
      {"a grid whose keys end where each sequence says, as planned",
       [](Case& c) {
         tokens(c, 1536, 1536), near(c, 64, 4, 4);
         ends(c, {1536, 900});
         as_chosen(c);
       }},
      {"a chain: rows of a grid, then columns", [](Case& c) { tokens(c, 500, 500), cross(c, 23); }},
      {"a chain: rows with keys in both passes, in one, in none", [](Case& c) { tokens(c, 450, 401), sparse_rows(c); }},
      {"a chain whose keys end where each sequence says",
       [](Case& c) {
         tokens(c, 333, 333), cross(c, 16);
         ends(c, {333, 0, 100});
       }},
      {"a chain, as planned", [](Case& c) { tokens(c, 1024, 1024), axial_or_near(c, 64), as_chosen(c, 2); }},
      {"a chain of lengths that nothing divides, as planned",
       [](Case& c) { tokens(c, 1009, 1001), axial_or_near(c, 48), as_chosen(c, 2); }},
      {"a chain whose keys end where each sequence says, as planned",
       [](Case& c) {
         tokens(c, 1024, 1024), axial_or_near(c, 64);
         ends(c, {1024, 700});
         as_chosen(c, 2);
       }},
  };
  return cases;
}

}  // namespace tessera::test
