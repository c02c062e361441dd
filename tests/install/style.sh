#!/usr/bin/env bash
# Rules that no compiler checks:   style.sh SOURCE_DIR
set -euo pipefail
cd "$1"
status=0
complain() { printf '%s:\n%s\n' "$1" "$2" >&2; status=1; }

mapfile -t files < <(find dsl backend runtime library tests examples -name '*.h' -o -name '*.cpp' | sort)
long=$(wc -l "${files[@]}" | awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines" }')
[ -z "$long" ] || complain "files over 400 lines" "$long"

untitled=$(for header in $(printf '%s\n' "${files[@]}" | grep '\.h$'); do head -1 "$header" | grep -q '^// ' || echo "$header"; done)
[ -z "$untitled" ] || complain "headers that do not open with what they are" "$untitled"

unguarded=$(printf '%s\n' "${files[@]}" | grep '\.h$' | xargs grep -L '^#pragma once' || true)
[ -z "$unguarded" ] || complain "headers without #pragma once" "$unguarded"

outside=$(grep -lE 'include *[<"]llvm/' "${files[@]}" | grep -v '^backend/emit/' || true)
[ -z "$outside" ] || complain "LLVM's headers outside backend/emit" "$outside"
hana=$(grep -lE 'include *[<"]boost/' "${files[@]}" | grep -v '^dsl/lang/' || true)
[ -z "$hana" ] || complain "Boost's headers outside dsl/lang" "$hana"

# The arrows of the architecture, as includes: a folder, and the folders it may not look into.
arrow() {
  local from=$1 banned=$2 found
  found=$(grep -nE "include *<tessera/($banned)/" -r "$from" --include='*.h' --include='*.cpp' || true)
  [ -z "$found" ] || complain "$from must not include $banned" "$found"
}
arrow dsl 'backend|runtime|library'
arrow dsl/ir 'dsl/(lang|mask|passes)'
arrow dsl/mask 'dsl/(lang|passes)'
arrow dsl/passes 'dsl/lang'
arrow backend 'dsl/(lang|mask|passes)|runtime|library'
arrow runtime 'dsl|backend|library'
[ $status -eq 0 ] && echo "${#files[@]} files"
exit $status
