#include <tessera/dsl/lang/table.h>

namespace tessera::detail {

namespace {

template <class T>
std::shared_ptr<const mask::TableData> checked(std::vector<T> values, std::vector<std::int64_t> shape, SourceLoc loc) {
  std::int64_t elements = 1;
  std::string text;
  for (std::int64_t n : shape) {
    elements *= n;
    text += (text.empty() ? "" : " x ") + std::to_string(n);
  }
  if (elements != static_cast<std::int64_t>(values.size()) || elements == 0) {
    throw UserError(loc, "a table of " + text + " elements is given " + std::to_string(values.size()) + " values",
                    elements == 0 ? "a table has at least one element" : "give rows x columns values, row after row");
  }
  return mask::TableData::make(std::move(values), std::move(shape));
}

}  // namespace

std::shared_ptr<const mask::TableData> table_data(std::vector<int> values, std::vector<std::int64_t> shape,
                                                  SourceLoc loc) {
  return checked<std::int32_t>(std::move(values), std::move(shape), loc);
}

std::shared_ptr<const mask::TableData> table_data(std::vector<float> values, std::vector<std::int64_t> shape,
                                                  SourceLoc loc) {
  return checked<float>(std::move(values), std::move(shape), loc);
}

}  // namespace tessera::detail
