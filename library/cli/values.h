// Values of options, read from their text. What does not read is a UserError that names the option, the text and what
// would do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tessera/dsl/mask/plan.h>

namespace tessera::cli {

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t least);
double real_number(const std::string& option, const std::string& text);
const std::string& one_of(const std::string& option, const std::string& text, const std::vector<std::string>& accepted);

// Digits of a token order, outermost first, as weight:tile or weight:tile-origin: "128:8,1:16".
mask::Order token_order(const std::string& option, const std::string& text);

}  // namespace tessera::cli
