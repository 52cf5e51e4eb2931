#!/usr/bin/env bash
# Formats every C++ file with the pinned clang-format; with --check, only reports what would change.
set -euo pipefail
cd "$(dirname "$0")/.."
version=18.1.8
venv=${MAGLIO_VENV:-$(git rev-parse --path-format=absolute --git-common-dir)/maglio-tools}
tool=$venv/bin/clang-format
if ! "$tool" --version 2>/dev/null | grep -q "$version"; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet "clang-format==$version"
fi
# Tables written by a tool (*.inc) are left alone.
mapfile -d '' files < <(git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.inl')
existing=()
for f in "${files[@]}"; do [ -f "$f" ] && existing+=("$f"); done
[ ${#existing[@]} -gt 0 ] || exit 0
if [ "${1:-}" = --check ]; then
  "$tool" --dry-run --Werror "${existing[@]}" && echo "format: fine"
else
  "$tool" -i "${existing[@]}"
fi
