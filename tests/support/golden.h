// Golden texts: tests/golden/<name>.txt holds what a program printed when somebody last looked at it and agreed.
// UPDATE_GOLDEN=1 in the environment writes the files instead of comparing; the difference is then read in a review.
#pragma once

#include <string>

namespace tessera::test {

// A doctest check that `text` is what the file holds; the failure shows the first line that differs.
void check_golden(const std::string& name, const std::string& text);

}  // namespace tessera::test
