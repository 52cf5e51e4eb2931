#!/usr/bin/env bash
# Installs what is missing to build (setup.sh build) or to build and test (setup.sh test) maglio.
#
# On Debian 12 as root it installs the packages itself; as an ordinary user it names the command to run. Where
# everything is there it says nothing. Elsewhere, any of these will do: CMake >= 3.25, Ninja, g++ >= 12, pkg-config,
# CLI11, {fmt}, Boost >= 1.81 headers, utf8proc, libedit, and for the tests GoogleTest, Google Benchmark and Python 3.
set -euo pipefail
what=${1:-build}

packages=(cmake ninja-build g++ pkg-config libcli11-dev libfmt-dev libboost1.81-dev libutf8proc-dev libedit-dev
          python3 python3-venv ca-certificates)
[ "$what" = test ] && packages+=(git libgtest-dev libbenchmark-dev python3-jinja2)
# For the kernels of processors that this machine is not (tests/neon, tests/kernels/simde).
[ "$what" = test ] && [ "$(uname -m)" = x86_64 ] && packages+=(g++-aarch64-linux-gnu qemu-user-static libsimde-dev)

if ! command -v dpkg-query >/dev/null; then
  for tool in cmake ninja c++ pkg-config python3; do
    command -v "$tool" >/dev/null || { echo "setup: '$tool' is missing; the list is in tools/setup.sh" >&2; exit 1; }
  done
  exit 0
fi

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  {
    echo "setup: missing: ${missing[*]}"
    echo "setup: install with: sudo $command"
  } >&2
  exit 1
fi
echo "setup: $command"
export DEBIAN_FRONTEND=noninteractive
$command >/tmp/maglio-setup.log 2>&1 || { apt-get update >/dev/null && $command >/tmp/maglio-setup.log 2>&1; } || {
  tail -20 /tmp/maglio-setup.log >&2
  echo "setup: the installation failed; the log is in /tmp/maglio-setup.log" >&2
  exit 1
}
