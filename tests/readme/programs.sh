#!/usr/bin/env bash
# programs.sh SOURCE_DIR COMPILER PREFIX LIBRARY_DIR WORK_DIR
#
# A C++ block of README.md that is a whole program is compiled against the installation and run; any other must stand, line
# for line, in one of the programs that the tests run.
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
echo "$programs programs, $excerpts excerpts"
[ $programs -gt 0 ]
