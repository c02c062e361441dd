#!/usr/bin/env bash
# variables.sh SOURCE_DIR: README.md lists the environment variables that the sources read, and one file in the runtime and
# one in the library read them.
set -euo pipefail
cd "$1"
readers='runtime/environment\.(h|cpp) library/environment\.(h|cpp)'
elsewhere=$(grep -rlE '\bgetenv\b|"TESSERA_[A-Z_]+"' dsl backend runtime library --include='*.h' --include='*.cpp' |
            grep -vxE "${readers/ /|}" || true)
[ -z "$elsewhere" ] || { printf 'these read the environment on their own:\n%s\n' "$elsewhere" >&2; exit 1; }

read=$(sed -n '/^namespace variable/,/^}/p' runtime/environment.h | grep -oE '"[A-Z_]+"'; grep -ohE '"TESSERA_[A-Z_]+"' library/environment.cpp)
listed=$(sed -n '/^## Environment/,/^## Licence/p' README.md | grep -oE '`[A-Z][A-Z_]+`')
diff <(tr -d '"' <<< "$read" | sort -u) <(tr -d '`' <<< "$listed" | sort -u) ||
  { echo "left: read by the sources; right: listed in README.md" >&2; exit 1; }
echo "$(sort -u <<< "$read" | wc -l) variables"
