#!/usr/bin/env bash
# commands.sh SOURCE_DIR TOOL_DIR: runs the `tessera` commands of README.md's shell blocks; a script it names must be there.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/blocks.sh"
root=$1 tools=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

blocks sh "$root/README.md" "$work/blocks"
# In a folder of its own, where the fixture's path is good and output files do no harm.
mkdir "$work/run" && cd "$work/run" && ln -s "$root/tests" tests
export PATH="$tools:$PATH"
ran=0
while IFS= read -r line; do
  line=${line%%  #*}
  case $line in
    'tessera '*)
      printf '$ %s\n' "$line"
      bash -c "$line" > "$work/output" 2>&1 || { cat "$work/output" >&2; exit 1; }
      [ -s "$work/output" ] || { echo "it prints nothing" >&2; exit 1; }
      ran=$((ran + 1)) ;;
    examples/*|tests/*|.ci/*) [ -x "$root/${line%% *}" ] || { echo "README.md names ${line%% *}, which is not there" >&2; exit 1; } ;;
  esac
done < <(cat "$work"/blocks/*.sh)
echo "$ran commands"
[ $ran -gt 0 ]
