// What tuning found, on disk: kept for its kernel, device and class of shapes, and not used where it is damaged or of
// another make.
#include <tessera/library/tune_store.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/check_call.h>
#include <tessera/library/planned.h>

using namespace tessera;
using namespace tessera::library;
using json = nlohmann::ordered_json;

namespace {

struct Folder {
  ~Folder() { std::filesystem::remove_all(path); }
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("tessera_tune_test_" + std::to_string(::getpid()) + "_" + std::to_string(made++)))
                               .string();
  static inline int made = 0;
};

const TuneKey kKey{"NVIDIA H200", "kernel forward traced ...", 128, 128, "queries 4096"};
const TuneChoice kChoice{{128, 176}, {}};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Why what is saved for kKey is not used after `change` has been at its file.
std::string ignored(const std::function<std::string(const std::string&)>& change) {
  const Folder folder;
  const TuneStore store(folder.path, "compiler 1");
  const std::string path = store.save(kKey, kChoice, 0.5);
  write_all(path, change(read_all(path)));
  const TuneStore::Found found = store.find(kKey);
  CHECK(!found.choice);
  const std::string start = "the tuning entry " + path + " is not used: ", end = "; tessera tune replaces it";
  REQUIRE(found.ignored.starts_with(start));
  REQUIRE(found.ignored.ends_with(end));
  return found.ignored.substr(start.size(), found.ignored.size() - start.size() - end.size());
}

std::string edited(const std::string& text, const std::function<void(json&)>& edit) {
  json entry = json::parse(text);
  edit(entry);
  return entry.dump();
}

AttentionOptions options(Mask mask, int head_dim = 128) {
  AttentionOptions options;
  options.mask = std::move(mask);
  options.head_dim = head_dim;
  return resolve(std::move(options), SourceLoc{});
}

runtime::Hash hash_of(const std::string& device, const AttentionOptions& options, const AttentionShapes& shapes) {
  return tune_key(device, trace_attention(options, shapes.lse, shapes.key_lengths), options, shapes).hash();
}

}  // namespace

TEST_CASE("what is saved is found, by its key alone, and replaced by what is saved later") {
  const Folder folder;
  const TuneStore store(folder.path + "/made/on/the/way", "compiler 1");
  CHECK(!store.find(kKey).choice);
  CHECK(store.find(kKey).ignored.empty());
  store.save(kKey, kChoice, 0.5);
  REQUIRE(store.find(kKey).choice);
  CHECK(*store.find(kKey).choice == kChoice);
  CHECK(store.find(kKey).ignored.empty());

  TuneKey other = kKey;
  other.device = "NVIDIA H100";
  CHECK(!store.find(other).choice);
  CHECK(store.find(other).ignored.empty());

  const std::string path = store.save(kKey, {{64, 96}, {}}, 0.4);
  CHECK(store.find(kKey).choice->tile.key == 96);
  int files = 0;  // nothing else is left behind
  for (const auto& entry : std::filesystem::directory_iterator(folder.path + "/made/on/the/way")) {
    CHECK(entry.path().string() == path);
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("what is damaged is not used") {
  CHECK(ignored([](const std::string&) { return ""; }) == "it is no tuning entry");
  CHECK(ignored([](const std::string&) { return "[1, 2]"; }) == "it is no tuning entry");
  CHECK(ignored([](const std::string& text) { return text.substr(0, text.size() / 2); }) == "it is no tuning entry");
  CHECK(ignored([](const std::string& text) { return edited(text, [](json& e) { e["tile"][0] = 64; }); }) ==
        "it is damaged");
  CHECK(ignored([](const std::string& text) { return edited(text, [](json& e) { e.erase("check"); }); }) ==
        "it is damaged");
  CHECK(ignored([](const std::string& text) { return edited(text, [](json& e) { e["check"] = 7; }); }) ==
        "it is damaged");
}

TEST_CASE("what is of another make is not used") {
  CHECK(ignored([](const std::string& text) { return edited(text, [](json& e) { e["tuning"] = 2; }); }) ==
        "its format is 2, not 1");
  CHECK(ignored([](const std::string&) {
          const Folder elsewhere;
          return read_all(TuneStore(elsewhere.path, "compiler 0").save(kKey, kChoice, 0.5));
        }) == "it was measured with another build of Tessera");
  CHECK(ignored([](const std::string&) {
          TuneKey other = kKey;
          other.shapes = "queries 8192";
          const Folder elsewhere;
          return read_all(TuneStore(elsewhere.path, "compiler 1").save(other, kChoice, 0.5));
        }) == "it was measured for another kernel, device or class of shapes");
  CHECK(ignored([](const std::string&) {
          const Folder elsewhere;
          return read_all(TuneStore(elsewhere.path, "compiler 1").save(kKey, {{100, 96}, {}}, 0.5));
        }) == "its tile or schedule is none that kernels can have");
}

TEST_CASE("a file that is there and cannot be read is said to be so") {
  const Folder folder;
  const TuneStore store(folder.path, "compiler 1");
  const std::string path = store.save(kKey, kChoice, 0.5);
  std::filesystem::remove(path);
  std::filesystem::create_directories(path);
  CHECK(store.find(kKey).ignored ==
        "the tuning entry " + path + " is not used: Is a directory; tessera tune replaces it");
}

TEST_CASE("without a directory nothing is found") {
  const TuneStore store("", "compiler 1");
  CHECK(!store.find(kKey).choice);
  CHECK(store.find(kKey).ignored.empty());
}

TEST_CASE("classes of shapes") {
  AttentionShapes shapes{.batch = 2, .heads = 12, .kv_heads = 4, .query_length = 5000, .key_length = 8192};
  CHECK(shape_class(shapes) == "queries 4096, keys 8192, heads 16, group 3");
  shapes.kv_heads = 0;
  CHECK(shape_class(shapes) == "queries 4096, keys 8192, heads 16, group 1");
  shapes = {.batch = 0, .heads = 0, .query_length = 0, .key_length = 1};
  CHECK(shape_class(shapes) == "queries 0, keys 1, heads 0, group 0");
}

TEST_CASE("a key is of all that the fastest kernel depends on, and of no more") {
  const AttentionShapes shapes{.batch = 1, .heads = 4, .query_length = 4096, .key_length = 4096};
  const runtime::Hash key = hash_of("card", options(window(1023, 0)), shapes);
  CHECK(key == hash_of("card", options(window(1023, 0)), shapes));
  AttentionShapes other = shapes;
  other.query_length = 5000;  // of the same class
  CHECK(key == hash_of("card", options(window(1023, 0)), other));
  other.query_length = 8192;
  CHECK(key != hash_of("card", options(window(1023, 0)), other));
  other = shapes;
  other.lse = true;
  CHECK(key != hash_of("card", options(window(1023, 0)), other));
  CHECK(key != hash_of("other card", options(window(1023, 0)), shapes));
  CHECK(key != hash_of("card", options(window(511, 0)), shapes));
  CHECK(key != hash_of("card", options(window(1023, 0), 64), shapes));
  AttentionOptions half = options(window(1023, 0));
  half.dtype = f16;
  CHECK(key != hash_of("card", half, shapes));
  // Other documents, of as many tokens, are the same kernel.
  CHECK(hash_of("card", options(documents(document_ids({100, 3996}))), shapes) ==
        hash_of("card", options(documents(document_ids({2048, 2048}))), shapes));
}
