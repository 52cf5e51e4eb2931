#!/usr/bin/env bash
# Speculative text against plain text on the default model, the whole of it: 200 prompts, seven ways of sampling, 64
# tokens, alone and in batches; about 40 minutes of one core. CTest runs a tenth.
#   tools/compare_speculation.sh [LOG [BUILD]]          LOG: build/check/compare_speculation.log, BUILD: build/check
# Ten prompts at a time; a run that was interrupted goes on where LOG ends, with the same test program only.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${2:-build/check} log=${1:-${2:-build/check}/compare_speculation.log}
program=$build/tests/e2e_tests
[ -x "$program" ] || { echo "compare_speculation: no program '$program': cmake --build $build --target e2e_tests" >&2; exit 1; }

digest="program $(sha256sum "$program" | cut -d' ' -f1)"
[ -s "$log" ] || echo "$digest" >"$log"
[ "$(head -1 "$log")" = "$digest" ] || {
  echo "compare_speculation: '$log' is of another build; remove it to begin again" >&2
  exit 1
}
for ((first = 0; first < 200; first += 10)); do
  part=$first-$((first + 10))
  grep -qx "prompts $part: equal" "$log" && continue
  echo "compare_speculation: prompts $part" >&2
  found=$(MAGLIO_SPECULATION_PROMPTS=$part "$program" --gtest_filter='DefaultModelSpeculation.*') && ! grep -q SKIPPED <<<"$found" || {
    echo "$found" >&2
    exit 1
  }
  { grep -E 'guesses right in|texts compared' <<<"$found"; echo "prompts $part: equal"; } >>"$log"
done

# The sums. That each text had a guess that was right, at last with a reference, the test has seen to.
awk -F': ' '
  / guesses right in / { split($2, n, " "); right[$1] += n[1]; drafted[$1] += n[3]; passes[$1] += n[7] }
  / texts compared/ { split($0, n, " "); texts += n[1]; stopped += n[4]; again += n[9] }
  END {
    for (s in right) print s ": " right[s] " of " drafted[s] " guesses right in " passes[s] " passes"
    print texts " texts compared and equal, " stopped " ended by a stop string, " again + 0 " again with a reference"
    exit texts != 1400 || stopped != 200
  }' "$log"
