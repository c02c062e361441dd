# Sourced by tests/run.sh and examples/quickstart.sh: what both need before they can build.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

build_packages=(g++ cmake ninja-build libfmt-dev libboost-dev nlohmann-json3-dev libcli11-dev libxxhash-dev
                llvm-22-dev libzstd-dev zlib1g-dev)

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Installs those of the named Debian packages that are missing. Elsewhere than on Debian the build says what it lacks.
install_packages() {
  local missing=() package sudo=()
  if ! command -v apt-get > /dev/null; then
    say "no apt-get here: taking for granted that these are installed: $*"
    return
  fi
  for package in "$@"; do
    dpkg-query --show --showformat='${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "nothing to install"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || fail "missing packages, and neither root nor sudo to install them: ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  for package in "${missing[@]}"; do
    apt-cache show "$package" > /dev/null 2>&1 ||
      fail "the package $package is in none of this system's lists; Debian 12 has it among its security updates: enable" \
           "those (suite bookworm-security), or, for llvm-22-dev, add the LLVM project's apt repository"
  done
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

# configure BUILD_DIR OPTIONS...
configure() {
  local build=$1 launcher=() log
  shift
  log=$(mktemp)
  command -v ccache > /dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  say "configuring $build"
  cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" "$@" > "$log" 2>&1 ||
    { cat "$log" >&2; fail "cmake could not configure $build"; }
  rm -f "$log"
}
