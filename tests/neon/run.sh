#!/usr/bin/env bash
# The NEON units on a machine that is no AArch64: built by a cross compiler, run under qemu.
#
#   run.sh build                     builds the test programs of the numeric rooms (CMake preset "neon")
#   run.sh sealed                    the check of the units' symbols
#   run.sh CPU ROOM [gtest flags]    runs the test program of a room on the processor that qemu calls CPU
#
# Exit code 77 means skipped: something that tools/setup.sh installs is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."

for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is missing, NEON is not tested (tools/setup.sh test)"; exit 77; }
done
[ -d /usr/src/googletest ] || { echo "skipped: /usr/src/googletest is missing, NEON is not tested (tools/setup.sh test)"; exit 77; }

case $1 in
  build)
    cmake --preset neon
    cmake --build --preset neon --target tensor_tests quant_tests kernels_tests ops_tests model_tests
    ;;
  sealed) ctest --test-dir build/neon --tests-regex isa_units_are_sealed --no-tests=error --output-on-failure ;;
  *) exec qemu-aarch64-static -cpu "$1" "build/neon/tests/$2_tests" "${@:3}" ;;
esac
