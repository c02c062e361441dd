#!/usr/bin/env bash
# What the installed libraries export and need:   symbols.sh LIBRARY_DIR
#
# Exported are names of the project alone: a process may hold another LLVM. libcuda is opened at run time, never linked.
set -euo pipefail
for library in libtessera.so libtessera_emit.so; do
  exported=$(nm --dynamic --demangle --defined-only "$1/$library" | cut -d' ' -f3-)
  foreign=$(grep -vE '^(typeinfo (name )?for |vtable for |VTT for )?tessera::' <<< "$exported" || true)
  [ -z "$foreign" ] || { printf '%s exports names that are not its own:\n%s\n' "$library" "$foreign" | head -40 >&2; exit 1; }
  [ "$(grep -c '^tessera::' <<< "$exported")" -gt 0 ] || { echo "$library exports nothing" >&2; exit 1; }
  if readelf --dynamic "$1/$library" | grep -E 'NEEDED.*(libLLVM|libcuda|libnv)'; then
    echo "$library is linked to LLVM's or CUDA's libraries" >&2
    exit 1
  fi
  echo "$library: $(wc -l <<< "$exported") names exported"
done
