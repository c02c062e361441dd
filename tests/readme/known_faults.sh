#!/usr/bin/env bash
# known_faults.sh TESTS_DIR: the table of known faults is complete, names files that exist, and lists every test that names
# a fault.
set -euo pipefail
cd "$1"
status=0
complain() { echo "$*" >&2; status=1; }

for number in $(seq -w 1 80); do
  row=$(grep "^| B$number | " known_faults.md) || { complain "no row for B$number"; continue; }
  cell=$(awk -F'|' '{ gsub(/ /, "", $4); print $4 }' <<< "$row")
  [ -n "$cell" ] || complain "B$number has neither a test nor a reason"
  while read -r file; do
    [[ $row == *"\`$file\`"* ]] || complain "$file tests B$number, and the table does not say so"
  done < <(grep -rlE "TEST_CASE.*\bB$number\b" --include='*.cpp' . | sed 's|^\./||')
done
for file in $(grep -oE '`[^`]+`' known_faults.md | tr -d '`' | sort -u); do
  [ -e "$file" ] || complain "the table names $file, which is not there"
done
exit $status
