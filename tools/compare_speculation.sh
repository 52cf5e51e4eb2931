#!/usr/bin/env bash
# Speculative text against plain text on the default model, the whole of it: 200 prompts, seven ways of sampling, 64
# tokens, alone and in batches; about 40 minutes of CPU. CTest runs a tenth.
#   tools/compare_speculation.sh [BUILD]          BUILD: build/check
set -euo pipefail
cd "$(dirname "$0")/.."
MAGLIO_SPECULATION_FULL=1 "${1:-build/check}"/tests/e2e_tests --gtest_filter='DefaultModelSpeculation.*'
