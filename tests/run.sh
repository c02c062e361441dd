#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the tests:   tests/run.sh [arguments of ctest]
#
#   RUN_SANITIZE=1         the unit tests alone, under the address and undefined-behaviour sanitizers
#   RUN_WERROR=1           warnings are errors (not under sanitizers)
#   RUN_BUILD_DIR=folder   where to build (build, or build-sanitize)
#   RUN_JOBS=n             compilers and tests at a time (one per core)
#
# Tests that need a GPU skip where there is none, and say so.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"

jobs=${RUN_JOBS:-$(nproc)}
tests=(--output-on-failure --no-tests=error --parallel "$jobs")

# Where nothing is cached, sources are compiled several at a time: the tests and the emitter, which is LLVM's headers, and
# under sanitizers all. What the library's sources include is seen in the other build, where warnings count too.
unity() { command -v ccache > /dev/null || printf '%s' "$1"; }
now=$SECONDS
took() { say "$1 took $((SECONDS - now)) s"; now=$SECONDS; }

install_packages "${build_packages[@]}" doctest-dev clang-14

if [ -n "${RUN_SANITIZE:-}" ]; then
  build=${RUN_BUILD_DIR:-$root/build-sanitize}
  # Optimised for compile time: -O1 takes nearly twice as long. xxhash has to be told not to insist on inlining then.
  # Warnings stay warnings: under sanitizers g++ has false ones.
  configure "$build" -DTESSERA_SANITIZE=address,undefined -DTESSERA_EXAMPLES=OFF \
    -DTESSERA_UNITY="$(unity 'library;emit;tests')" \
    "-DCMAKE_CXX_FLAGS_RELEASE=-Og -DXXH_NO_INLINE_HINTS=1"
  say "building the unit tests under sanitizers"
  cmake --build "$build" --parallel "$jobs" --target unit_tests
  took "building"
  export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  ctest --test-dir "$build" "${tests[@]}" --label-regex '^unit$' "$@"
else
  build=${RUN_BUILD_DIR:-$root/build}
  configure "$build" -DTESSERA_UNITY="$(unity 'emit;tests')" \
    -DTESSERA_WERROR="$([ -n "${RUN_WERROR:-}" ] && echo ON || echo OFF)"
  say "building"
  cmake --build "$build" --parallel "$jobs"
  took "building"
  ctest --test-dir "$build" "${tests[@]}" "$@"
fi
took "testing"
