# Sourced. blocks LANGUAGE README FOLDER: writes the fenced blocks of that language to FOLDER/1.LANGUAGE, 2.LANGUAGE, ...
# shellcheck shell=bash
blocks() {
  rm -rf "$3" && mkdir -p "$3"
  awk -v language="$1" -v folder="$3" '
    /^```/ { if (inside) { close(file); inside = 0 } else if ($0 == "```" language) { file = folder "/" ++n "." language; inside = 1; printf "" > file }; next }
    inside { print > file }' "$2"
  [ -n "$(ls "$3")" ] || { echo "no $1 block in $2" >&2; exit 1; }
}
