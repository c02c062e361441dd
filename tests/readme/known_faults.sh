#!/usr/bin/env bash
# known_faults.sh TESTS_DIR: known_faults.md and the tests agree, both ways. Every fault has one row, with tests or with a
# reason why there are none; every test file in a row is there, and has a test with the row's id in its name or one that
# the row names after it, as in `file_test.cpp` ("each row visited"); every test with an id in its name is in that row.
set -euo pipefail
cd "$1"
status=0
complain() { echo "$*" >&2; status=1; }

ids=$(seq --format='B%02g' 1 80)
tagged=$(grep -rnoE 'TEST_CASE.*' --include='*.cpp' . | sed 's|^\./||' |
  awk -F: '{ file = $1; while (match($0, /[^A-Za-z0-9_]B[0-9][0-9]+[^A-Za-z0-9_]/)) {
    print substr($0, RSTART + 1, RLENGTH - 2), file; $0 = substr($0, RSTART + RLENGTH - 1) } }' | sort -u)
[ -n "$tagged" ] || complain "no test has an id in its name"

# The rows, as: id, what went wrong, tests or reason.
rows=$(sed -n 's/^| \(B[0-9]*\) | \(.*\) | *\(.*\) *|$/\1\t\2\t\3/p' known_faults.md)
for id in $(comm -23 <(sort <<< "$ids") <(cut -f1 <<< "$rows" | sort -u)); do complain "no row for $id"; done
for id in $(cut -f1 <<< "$rows" | sort | uniq -d); do complain "several rows for $id"; done
for id in $(awk -F'\t' '$2 !~ /[a-z][a-z]/ || $3 !~ /[a-z][a-z]/ { print $1 }' <<< "$rows"); do
  complain "$id has neither a test nor a reason"
done
while read -r id file; do
  row=$(grep "^$id"$'\t' <<< "$rows") || { complain "$file tests $id, and there is no such fault"; continue; }
  [[ $row == *"\`$file\`"* ]] || complain "$file tests $id, and the table does not say so"
done <<< "$tagged"

# Every `file` of a row, and the ("name") behind it.
while IFS=$'\t' read -r id file name; do
  [ -e "$file" ] || { complain "$id names $file, which is not there"; continue; }
  if [ -n "$name" ]; then
    grep -qF "TEST_CASE(\"$name" "$file" || complain "$id names the test \"$name\", which is not in $file"
  elif [[ $file == *.cpp ]]; then
    [[ $'\n'$tagged$'\n' == *$'\n'"$id $file"$'\n'* ]] || complain "$id names $file, where no test has $id in its name"
  fi
done < <(awk -F'\t' '{
  while (match($3, /`[^`]+`( \("[^"]+"\))?/)) {
    split(substr($3, RSTART, RLENGTH), part, "`"); $3 = substr($3, RSTART + RLENGTH)
    gsub(/^ \("|"\)$/, "", part[3]); print $1 "\t" part[2] "\t" part[3] } }' <<< "$rows")
[ $status -eq 0 ] && echo "$(wc -w <<< "$ids") faults, $(wc -l <<< "$tagged") tests with an id"
exit $status
