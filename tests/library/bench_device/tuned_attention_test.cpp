// An Attention whose tile and schedule are left open takes what tuning found for its class of shapes, and says so.
#include <tessera/library/attention.h>
#include <tessera/library/tuned.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/check_call.h>
#include <tessera/library/devices.h>
#include <tessera/library/planned.h>

using namespace tessera;
using nlohmann::json;

TEST_CASE("what was tuned is what runs, for its class of shapes and where nothing else is asked for") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("tessera_tuned_attention_" + std::to_string(::getpid()));
  ::setenv("TESSERA_CACHE_DIR", folder.c_str(), 1);
  const AttentionOptions options = {.mask = causal, .head_dim = 64};
  const AttentionShapes small{.heads = 2, .query_length = 512, .key_length = 512};
  const AttentionShapes large{.heads = 2, .query_length = 2048, .key_length = 2048};
  library::TuneChoice best{{64, 176}, {}};
  best.schedule.overlap = false;
  const AttentionOptions resolved = library::resolve(options, SourceLoc{});
  const library::TracedProgram program = library::trace_attention(resolved, false, false);
  const std::string file = library::TuneStore::from_environment().save(
      library::tune_key(library::default_device()->info().name, program, resolved, small), best, 1);

  const auto explained = [](Attention& attend, const AttentionShapes& shapes) {
    attend.prepare(shapes);
    return json::parse(attend.explain_json());
  };
  const auto has_note = [](const json& e, const std::string& note) {
    const auto& notes = e.at("notes");
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  const std::string tuned = "tuned: " + to_string(best);
  Attention attend(options);
  json e = explained(attend, small);
  CHECK(e["passes"][0]["query_tile"] == 64);
  CHECK(e["passes"][0]["sources"][0]["key_tile"] == 176);
  CHECK(e["schedule"].get<std::string>().find("overlap") == std::string::npos);
  CHECK(has_note(e, tuned));
  e = explained(attend, large);
  CHECK(e["passes"][0]["query_tile"] == 192);
  CHECK(e["schedule"].get<std::string>().find("overlap") != std::string::npos);
  CHECK(!has_note(e, tuned));

  AttentionOptions named = options;
  named.query_tile = 128;
  Attention other(named);
  CHECK(explained(other, small)["passes"][0]["query_tile"] == 128);

  std::filesystem::resize_file(file, 20);
  Attention later(options);
  e = explained(later, small);
  CHECK(e["passes"][0]["query_tile"] == 192);
  CHECK(has_note(e, "the tuning entry " + file + " is not used: it is no tuning entry; tessera tune replaces it"));
  std::filesystem::remove_all(folder);
}
