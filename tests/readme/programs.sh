#!/usr/bin/env bash
# programs.sh SOURCE_DIR COMPILER PREFIX LIBRARY_DIR WORK_DIR
#
# A C++ block of README.md that is a whole program is compiled against the installation and run; any other must stand, line
# for line, in one of the programs that the tests run. What a table names is in the installed headers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/blocks.sh"
root=$1 compiler=$2 prefix=$3 library=$3/$4 work=$5

blocks cpp "$root/README.md" "$work"
programs=0 excerpts=0
for block in "$work"/*.cpp; do
  if grep -q '^int main' "$block"; then
    "$compiler" -std=c++20 -Wall -Wextra -Werror "$block" -I "$prefix/include" -L "$library" -ltessera \
      -Wl,-rpath,"$library" -o "${block%.cpp}"
    "${block%.cpp}"
    programs=$((programs + 1))
    continue
  fi
  # Indentation apart, as in a program the block may stand in a function.
  excerpt=$(sed 's/^ *//; s/ *$//' "$block" | grep -v '^$')
  found=
  for program in "$root"/examples/*.cpp "$root"/tests/install/outside/* "$root"/library/*.h "$root"/library/*.cpp; do
    text=$(sed 's/^ *//; s/ *$//' "$program" | grep -v '^$')
    [[ $text == *"$excerpt"* ]] && found=$program && break
  done
  [ -n "$found" ] || { printf 'in no program that the tests run:\n%s\n' "$(cat "$block")" >&2; exit 1; }
  excerpts=$((excerpts + 1))
done

names=$(sed -n '/^## What a call can say/,/^## The command line/s/^| \([^|]*`[^|]*\) |.*/\1/p' "$root/README.md" |
  grep -o '`[^`]*`' | sed 's/"[^"]*"//g' | grep -oE '[A-Za-z_]{2,}' | grep -vxE 'Channel|body' | sort -u)
for name in $names; do
  grep -rqw -e "$name" "$prefix/include/tessera" || { echo "README.md names $name, which no installed header has" >&2; exit 1; }
done
echo "$programs programs, $excerpts excerpts, $(wc -w <<< "$names") names"
[ $programs -gt 0 ]
