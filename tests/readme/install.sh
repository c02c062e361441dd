#!/usr/bin/env bash
# install.sh SOURCE_DIR BUILD WORK_DIR: what README.md tells a stranger to type, typed: Tessera is configured, built and
# installed into an empty home; the first program is compiled by one line, and as the project of its CMakeLists.txt.
#
# The build itself is BUILD, for time: there the line that builds has only to find everything done.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/blocks.sh"
root=$1 build=$2 work=$3
rm -rf "$work" && mkdir -p "$work/home" "$work/tessera" "$work/first"
export HOME=$work/home
fail() { echo "$*" >&2; exit 1; }

for language in sh cpp cmake; do blocks $language "$root/README.md" "$work/blocks/$language"; done
block_with() { grep -lF -e "$2" "$work/blocks/$1"/* | head -1 | grep . || fail "no $1 block of README.md has '$2'"; }
install=$(block_with sh 'cmake --install') compile=$(block_with sh 'g++') project=$(block_with sh 'CMAKE_PREFIX_PATH')

# In a folder like the repository, but without its builds.
cd "$work/tessera"
for entry in "$root"/*; do [[ $(basename "$entry") == build* ]] || ln -s "$entry" .; done
ran=0
while IFS= read -r line; do
  printf '$ %s\n' "$line"
  case $line in
    'cmake -G '*)
      eval "$line" > configure.log 2>&1 || fail "$(cat configure.log)"
      name=$(sed -n 's/.* -B \([^ ]*\).*/\1/p' <<< "$line")
      [ -e "$name/build.ninja" ] || fail "it configures no $name"
      grep -q '^build bin/tessera:' "$name/build.ninja" || fail "the command tessera is not part of what it builds"
      rm -rf "$name" && ln -s "$build" "$name" ;;
    'cmake --build '*) eval "$line --target tessera_cli tessera tessera_emit" ;;
    *) eval "$line" > /dev/null ;;
  esac
  ran=$((ran + 1))
done < "$install"
[ $ran -eq 4 ] || fail "README.md installs in $ran lines"
[ "$(command -v tessera)" = "$HOME/.local/bin/tessera" ] || fail "the tessera on PATH is not the one that was installed"
tessera --version

cd "$work/first"
cp "$(block_with cpp 'int main')" first.cpp
cp "$(block_with cmake 'project(First')" CMakeLists.txt
for block in "$compile" "$project"; do
  cat "$block"
  said=$(bash -euc "$(cat "$block")")
  grep -q '^tiles .* visited' <<< "$said" || fail "the first program does not explain itself: $said"
done
