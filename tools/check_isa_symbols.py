#!/usr/bin/env python3
"""Checks that units compiled for one instruction set are sealed: each object defines exactly one external symbol,
its kernel table.

An inline function that such a unit leaves behind as a weak symbol may be picked by the linker for the whole program,
which then stops with an illegal instruction on a smaller machine. At -O0 nothing is inlined, so that is where this
check sees the most.

    tools/check_isa_symbols.py [--nm NM] OBJECT...
"""
import argparse
import re
import subprocess
import sys

TABLE = re.compile(r"maglio::kernels_\w+")
# One symbol of an AddressSanitizer build that belongs to the tool: it marks the table's own redzone.
INSTRUMENTATION = re.compile(r"__odr_asan\.")


def external_symbols(nm, obj):
    """[(type letter, demangled name)] of what the object offers to the linker."""
    out = subprocess.run([nm, "--defined-only", "--extern-only", "-C", obj], check=True, capture_output=True, text=True)
    symbols = []
    for line in out.stdout.splitlines():
        m = re.match(r"[0-9a-fA-F]+ (\w) (.+)", line)
        if m and not INSTRUMENTATION.match(m.group(2)):
            symbols.append((m.group(1), m.group(2)))
    return symbols


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", default="nm", help="the nm of the objects' machine")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    bad = 0
    for obj in args.objects:
        symbols = external_symbols(args.nm, obj)
        tables = [s for s in symbols if TABLE.fullmatch(s[1])]
        for kind, name in symbols:
            if (kind, name) not in tables:
                print(f"{obj}: '{name}' ({kind}) leaves the unit; put it into the anonymous namespace")
                bad += 1
        if len(tables) != 1:
            print(f"{obj}: {len(tables)} kernel tables, expected one")
            bad += 1
    print(f"check_isa_symbols: {bad} problems" if bad else f"check_isa_symbols: {len(args.objects)} units sealed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
