#!/usr/bin/env bash
# The installed headers are complete, and of others' they need Boost.Hana's alone:   installed_headers.sh COMPILER INCLUDE_DIR
#
# One translation unit with all of them: what an installed header includes must be installed too.
set -euo pipefail
compiler=$1
cd "$2/tessera"
if grep -rnE 'include *[<"]' . | grep -vE 'include <(tessera/[a-z_/0-9]+\.(h|def)|boost/hana/[a-z_/0-9]+\.hpp|[a-z_]+)>'; then
  echo "a public header includes what is neither Tessera's, nor the standard library's, nor Boost.Hana's" >&2
  exit 1
fi
mapfile -t headers < <(find . -name '*.h' | sed 's|^\./||' | sort)
[ ${#headers[@]} -gt 0 ] || { echo "no headers in $PWD" >&2; exit 1; }
printf '#include <tessera/%s>\n' "${headers[@]}" |
  "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$2" -x c++ -
echo "${#headers[@]} headers"
