#!/usr/bin/env bash
# commands.sh SOURCE_DIR TOOL_DIR: runs the `tessera` commands of README.md's shell blocks; a script it names must be there,
# and know its options. Of commands that measure all is checked but the measuring: without a GPU nothing else stops them.
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
touch "$work/explained"
while IFS= read -r line; do
  line=${line%%  #*}
  case $line in
    'tessera tune '*|'tessera bench --only'*)
      printf '$ %s\n' "$line"
      TESSERA_DEVICE=cpu bash -c "$line" > "$work/output" 2>&1 && { echo "it measures without a GPU" >&2; exit 1; }
      grep -q 'there is no GPU to measure on' "$work/output" || { cat "$work/output" >&2; exit 1; }
      ran=$((ran + 1)) ;;
    'tessera '*)
      printf '$ %s\n' "$line"
      bash -c "$line" > "$work/output" 2>&1 || { cat "$work/output" >&2; exit 1; }
      [ -s "$work/output" ] || { echo "it prints nothing" >&2; exit 1; }
      [[ $line != 'tessera explain '* ]] || cat "$work/output" >> "$work/explained"
      ran=$((ran + 1)) ;;
    'python3 '*)
      read -r _ script _ <<< "$line"
      python3 "$root/$script" --help > "$work/output"
      for option in $(grep -oE ' --[a-z-]+' <<< "${line%%\"*}${line##*\"}"); do
        grep -qE -e "$option\b" "$work/output" || { echo "$script has no $option" >&2; exit 1; }
      done ;;
    examples/*|tests/*|.ci/*) [ -x "$root/${line%% *}" ] || { echo "README.md names ${line%% *}, which is not there" >&2; exit 1; } ;;
  esac
done < <(cat "$work"/blocks/*.sh)

# The words that README.md explains are those that the commands above it say.
words=$(sed -n '/^What `explain` says/,/^`tune`/s/^| \(`[^|]*\) |.*/\1/p' "$root/README.md" | grep -o '`[^`]*`' | tr -d '`')
while IFS= read -r word; do
  grep -qF -e "$word" "$work/explained" || { echo "no explanation has '$word'" >&2; exit 1; }
done <<< "$words"
echo "$ran commands, $(wc -l <<< "$words") words"
[ $ran -gt 0 ]
