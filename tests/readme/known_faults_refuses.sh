#!/usr/bin/env bash
# known_faults_refuses.sh TESTS_DIR: known_faults.sh notices each way in which table and tests can part.
set -euo pipefail
cd "$1"
check=$PWD/readme/known_faults.sh
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.copy"' EXIT

# The table, the files it names, and the tests with an id.
{ echo known_faults.md; grep -oE '`[^`]+`' known_faults.md | tr -d '`' | grep -v '/$'
  grep -rlE 'TEST_CASE.*B[0-9]' --include='*.cpp' . | sed 's|^\./||'; } | sort -u |
  tar --create --files-from - | tar --extract --directory "$work"
"$check" "$work" > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }

# refuses WORDS COMMAND...: after COMMAND, run in a copy, the check says WORDS.
refuses() {
  local words=$1 said
  shift
  rm -rf "$work.copy" && cp -r "$work" "$work.copy"
  (cd "$work.copy" && "$@")
  said=$("$check" "$work.copy" 2>&1) && { echo "not refused: $*" >&2; exit 1; }
  [[ $said == *"$words"* ]] || { printf 'refused for another reason: %s\n%s\n' "$*" "$said" >&2; exit 1; }
}

table=known_faults.md
refuses 'no row for B07' sed -i '/^| B07 /d' $table
refuses 'several rows for B08' sed -i '/^| B08 /p' $table
refuses 'B08 has neither a test nor a reason' sed -i 's/^\(| B08 |[^|]*| \).* |$/\1 |/' $table
refuses 'library/merge_test.cpp tests B02, and the table does not say so' sed -i '/^| B02 /s/`[^`]*`/somewhere/' $table
refuses 'extra_test.cpp tests B81, and there is no such fault' sh -c 'echo "TEST_CASE(\"one more (B81)\") {}" > extra_test.cpp'
refuses 'extra_test.cpp tests B33, and the table does not say so' sh -c 'echo "TEST_CASE(\"B33 blocks\") {}" > extra_test.cpp'
refuses 'B02 names library/merge_test.cpp, which is not there' rm library/merge_test.cpp
refuses 'B02 names library/merge_test.cpp, where no test has B02 in its name' sed -i 's/ (B02)//' library/merge_test.cpp
refuses 'B68 names the test "no such", which is not in runtime/cache_test.cpp' sed -i '/^| B68 /s/("[^"]*")/("no such")/' $table
echo "9 refusals"
