#!/usr/bin/env bash
# Each header of the project compiles alone:   headers.sh COMPILER INCLUDE_DIR SOURCE_DIR
#
# One that a source file includes before anything else is proven by that file; the others are compiled here. Those that
# need LLVM's headers are the emitter's own, and left to it.
set -euo pipefail
compiler=$1 include=$2
cd "$3"

all=$(find dsl backend runtime library -name '*.h' -not -path 'backend/emit/*' | sed 's|^library/public/||'; echo backend/emit/emit.h)
proven=$(find dsl backend runtime library tests -name '*.cpp' -not -path 'tests/compile_fail/*' -exec awk '
  FNR == 1 { seen = 0 }
  !seen && /^#include/ { seen = 1; if (match($0, /<tessera\/[^>]+>/)) print substr($0, RSTART + 9, RLENGTH - 10) }' {} +)
mapfile -t headers < <(comm -23 <(sort <<< "$all") <(sort -u <<< "$proven"))
[ ${#headers[@]} -gt 0 ] || { echo "no headers in $PWD" >&2; exit 1; }

printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} sh -c '
  printf "#include <tessera/{}>\n" | "$1" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$2" -x c++ - ||
    { echo "tessera/{} does not compile alone"; exit 1; }
' sh "$compiler" "$include"
echo "${#headers[@]} headers compiled alone, of $(wc -l <<< "$all")"
