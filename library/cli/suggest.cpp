#include <tessera/library/cli/suggest.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {

int edit_distance(const std::string& a, const std::string& b) {
  const std::size_t rows = a.size() + 1, columns = b.size() + 1;
  std::vector<std::vector<int>> d(rows, std::vector<int>(columns, 0));  // of the first i letters and the first j
  for (std::size_t i = 0; i < rows; ++i) d[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j < columns; ++j) d[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[rows - 1][columns - 1];
}

namespace {

std::string without_dashes(const std::string& name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// To the name or the nearest of its parts: "lenght" is one slip from "key-length".
int distance_to(const std::string& word, const std::string& name) {
  constexpr std::size_t kLettersOfAPart = 4;
  int distance = edit_distance(word, name);
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    if (end - begin >= kLettersOfAPart)
      distance = std::min(distance, edit_distance(word, name.substr(begin, end - begin)));
    begin = end + 1;
  }
  return distance;
}

}  // namespace

std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t kLettersOfAnEdit = 3, kLettersOfAStart = 3;
  const std::string plain = without_dashes(word);
  const int near = std::max(static_cast<int>(plain.size() / kLettersOfAnEdit), 1);
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& name : names) {
    const std::string candidate = without_dashes(name);
    const int distance = distance_to(plain, candidate);
    const bool starts = plain.size() >= kLettersOfAStart && candidate.starts_with(plain);
    if (starts || (distance <= near && distance < static_cast<int>(plain.size()))) found.emplace_back(distance, name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [distance, name] : found) result.push_back(name);
  return result;
}

std::string choices(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest(word, names);
  const std::string all = fmt::format("there are: {}", fmt::join(names, ", "));
  return near.empty() ? all : fmt::format("did you mean {}? {}", fmt::join(near, " or "), all);
}

}  // namespace tessera::cli
