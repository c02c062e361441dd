#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

namespace {

const PatternParameter kFrames{"frames", "", "frames of the video"},
    kPerFrame{"tokens-per-frame", "", "tokens of each"},
    kText{"text", "0", "tokens of text, which see and are seen by all"},
    kTextFirst{"text-first", "false", "the text stands before the video"},
    kSink{"sink", "false", "all queries see the first frame"}, kWidth{"width", "", "frames, as 2 or 1.5"};

Frames frames_of(const Values& v) { return {v.integer("frames"), v.integer("tokens-per-frame")}; }
TextTokens text_of(const Values& v) { return {v.integer("text"), v.flag("text-first")}; }
SparseVideo sparse_video(const Values& v) {
  return {.width = v.number("width"), .sink = v.flag("sink"), .text = text_of(v)};
}

Mask make_radial(const Values& v) {
  return radial(frames_of(v),
                {.decay = v.number("decay"),
                 .block = v.integer("block"),
                 .sink = v.flag("sink"),
                 .shrink = v.flag("shrink"),
                 .text = text_of(v)},
                kNowhere);
}

}  // namespace

std::vector<Pattern> video_patterns() {
  return {
      {"radial",
       "fewer keys of a frame, the further it is",
       {kFrames,
        kPerFrame,
        {"decay", "1", "factor of the bands"},
        {"block", "128", "tokens that a band is not narrower than"},
        kSink,
        {"shrink", "false", "see whole blocks of tokens, or nothing of them"},
        kText,
        kTextFirst},
       make_radial},
      {"spatial-head",
       "keys less than so many frames away",
       {kFrames, kPerFrame, kWidth, kSink, kText, kTextFirst},
       [](const Values& v) { return spatial_head(frames_of(v), sparse_video(v), kNowhere); }},
      {"temporal-head",
       "keys near the query's own place in all frames",
       {kFrames, kPerFrame, kWidth, kSink, kText, kTextFirst},
       [](const Values& v) { return temporal_head(frames_of(v), sparse_video(v), kNowhere); }},
  };
}

}  // namespace tessera::registry
