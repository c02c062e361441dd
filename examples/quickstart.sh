#!/usr/bin/env bash
# Installs what is missing, builds the library and the `tessera` command, and runs sliding-window attention over the Q, K
# and V of a real language model: on the GPU where there is an NVIDIA driver, else on the CPU.
#   examples/quickstart.sh [window]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tests/support/setup.sh"

install_packages "${build_packages[@]}"
build=${RUN_BUILD_DIR:-$root/build-quickstart}
configure "$build" -DTESSERA_TESTS=OFF
say "building (a few minutes the first time)"
cmake --build "$build" --parallel "${RUN_JOBS:-$(nproc)}" --target quickstart tessera_cli
say "running"
"$build/examples/quickstart" "$root/tests/fixtures/qkv.safetensors" "$build/quickstart" "$@"
say "the command is $build/bin/tessera"
