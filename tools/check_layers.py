#!/usr/bin/env python3
"""Checks the house rules that a compiler cannot: which room may include which, how long a file may be, and
what may appear where. Reads the table of rooms in src/README.md. Prints every violation; exits 1 if there is one.

    tools/check_layers.py            # the whole tree
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 600
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
PUBLIC = "maglio"
GENERATED = (".inc",)  # tables of constants, written by a tool


def rooms():
    """{room: set of rooms it may include}, from the table in src/README.md."""
    table = {}
    for line in (ROOT / "src/README.md").read_text(encoding="utf-8").splitlines():
        m = re.match(r"\| `(\w+)` \| ([^|]*) \|", line)
        if m:
            allowed = {w.strip() for w in m.group(2).split(",")} - {"—", ""}
            table[m.group(1)] = allowed | {m.group(1), "base"}
    return table


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".inl", ".py", ".sh") and path.is_file():
                yield path


def main():
    table, problems = rooms(), []
    if len(table) < 8:
        problems.append("src/README.md: the table of rooms was not found")
    for path in sources("src", "include", "apps", "tests", "tools", "bench", "examples"):
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            problems.append(f"{name}: {len(lines)} lines, at most {MAX_LINES}")
        parts = name.split("/")
        if parts[0] == "include":
            for n, line in enumerate(lines, 1):
                m = INCLUDE.match(line)
                if m and m.group(1).split("/")[0] in table:
                    problems.append(f"{name}:{n}: a public header includes {m.group(1)}")
        if parts[0] != "src" or len(parts) < 3:
            continue
        room = parts[1]
        if room not in table:
            problems.append(f"{name}: room '{room}' is not in the table of src/README.md")
            continue
        for n, line in enumerate(lines, 1):
            where = f"{name}:{n}"
            m = INCLUDE.match(line)
            if m:
                target = m.group(1)
                first = target.split("/")[0]
                if first in table and first not in table[room]:
                    problems.append(f"{where}: room '{room}' may not include '{first}' ({target})")
                if first == "text" and room == "model" and not parts[-1].startswith("model."):
                    problems.append(f"{where}: in room 'model' only model.* may include 'text'")
                if target.endswith("intrin.h") or target == "arm_neon.h":
                    if room != "kernels":
                        problems.append(f"{where}: intrinsics belong into 'kernels'")
                if target in ("thread", "condition_variable") and parts[-1].split(".")[0] not in (
                        "thread_pool", "background_workers", "cpu_count"):
                    problems.append(f"{where}: threads belong into base/thread_pool or base/background_workers")
                if target in ("iostream", "cstdio"):
                    problems.append(f"{where}: the library does not print ({target})")
                if target.startswith(".") or ("/" not in target and line.find('"') >= 0):
                    problems.append(f"{where}: include by full path from src/ ({target})")
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(problems)} problems" if problems else "check_layers: fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
