#!/usr/bin/env bash
# variables.sh SOURCE_DIR: the environment variables that the sources read are those that README.md lists.
set -euo pipefail
cd "$1"
read=$(grep -ohE '"TESSERA_[A-Z_]+"' -r runtime library --include='*.h' --include='*.cpp' | tr -d '"' | sort -u)
listed=$(grep -oE '^\| `TESSERA_[A-Z_]+`' README.md | tr -d '|` ' | sort -u)
diff <(echo "$read") <(echo "$listed") || { echo "left: read by the sources; right: listed in README.md" >&2; exit 1; }
wc -l <<< "$read"
