#!/usr/bin/env bash
# Compiles each header alone, twice in a row:   headers.sh COMPILER INCLUDE_DIR [SOURCE_DIR]
#
# With a source folder: every header of it, but for those that need LLVM's. Without: what is installed, which in addition
# may include nothing of LLVM's or CUDA's.
set -euo pipefail
compiler=$1 include=$2 source=${3:-}

if [ -n "$source" ]; then
  cd "$source"
  mapfile -t headers < <(find dsl backend runtime library -name '*.h' | xargs grep -L 'include *[<"]llvm/' |
                         sed 's|^library/public/||' | sort)
  # Private headers of the emitter reach LLVM's through each other.
  mapfile -t headers < <(printf '%s\n' "${headers[@]}" | grep -v '^backend/emit/' ; echo backend/emit/emit.h)
else
  cd "$include/tessera"
  if grep -rnE 'include *[<"](llvm|cuda|nv)' .; then
    echo "a public header includes LLVM's or CUDA's headers" >&2
    exit 1
  fi
  mapfile -t headers < <(find . -name '*.h' | sed 's|^\./||' | sort)
fi
[ ${#headers[@]} -gt 0 ] || { echo "no headers in $include" >&2; exit 1; }

printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} sh -c '
  printf "#include <tessera/{}>\n#include <tessera/{}>\n" |
    "$1" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$2" -x c++ - || { echo "tessera/{} does not compile alone"; exit 1; }
' sh "$compiler" "$include"
echo "${#headers[@]} headers compile alone"
