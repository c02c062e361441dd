#!/usr/bin/env bash
# Installs a build into an empty folder:   tree.sh CMAKE BUILD PREFIX
set -euo pipefail
rm -rf "$3"
"$1" --install "$2" --prefix "$3"
