#!/usr/bin/env bash
# lessons.sh SOURCE_DIR COMPILER PREFIX LIBRARY_DIR WORK_DIR: README.md says which lessons look inside Tessera; all others are
# compiled against the installation alone, and run.
set -euo pipefail
root=$1 compiler=$2 include=$3/include library=$3/$4 work=$5
rm -rf "$work" && mkdir -p "$work"

outside=() inside=()
for lesson in "$root"/examples/*.cpp; do
  missing=
  for header in $(sed -n 's/^#include <\(tessera\/[^>]*\)>.*/\1/p' "$lesson"); do
    [ -e "$include/$header" ] || missing=$header
  done
  if [ -z "$missing" ]; then outside+=("$(basename "$lesson" .cpp)"); else inside+=("$(basename "$lesson" .cpp)"); fi
done
[ "${inside[*]}" = "04_see_the_tiles quickstart" ] || { echo "these look inside: ${inside[*]}" >&2; exit 1; }
grep -qF 'Lesson 4 and `quickstart.cpp` look inside' "$root/README.md" || { echo "README.md does not say which do" >&2; exit 1; }

printf '%s\n' "${outside[@]}" | xargs -P 2 -I{} "$compiler" -std=c++20 -Wall -Wextra -Werror "$root/examples/{}.cpp" \
  -I "$include" -L "$library" -ltessera -ldl -Wl,-rpath,"$library" -o "$work/{}"
for lesson in "${outside[@]}"; do "$work/$lesson" > "$work/said" || { cat "$work/said" >&2; exit 1; }; done
echo "${#outside[@]} lessons"
