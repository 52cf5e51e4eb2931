#!/usr/bin/env python3
"""Checks docs/coverage.md: every statement of the chapter has a row, every row names code and a test that exist.

A row is `| id | § | statement | code | test |`. Code: paths. Test: `room.Suite.Name` (a GoogleTest in tests/room or,
for the room `course`, in examples/course), `ctest NAME` (an entry that CMake declares itself), or a path under tests/.
A statement that is not built yet says `later (issue N)` or `later (no issue yet)` instead of a test. With --ctest BUILD the names are compared
with what CTest really runs there, disabled tests counting as missing.

    tools/check_coverage.py [--ctest build/check]
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/coverage.md"
TEST = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
TYPED = re.compile(r"^\s*TYPED_TEST(?:_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
ADD_TEST = re.compile(r"add_test\(\s*NAME\s+([\w.\-${}]+)")
LATER = re.compile(r"later \((issue \d+|no issue yet)\)")
MUST_ROWS = {"12.1": 10, "12.2": 30, "12.3": 40, "12.4": 15, "12.5": 10, "12.6": 20, "12.7": 25, "12.8": 10, "12.9": 8}
MUST_TOTAL = 120
CHECKLIST = range(1, 18)


def declared_tests():
    """room.Suite.Name of every GoogleTest, and the names that tests.cmake files declare."""
    names = set()
    folders = {path: path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    folders[ROOT / "examples/course"] = "course"
    for folder, room in folders.items():
        for path in folder.glob("*_test.cpp"):
            text = path.read_text(encoding="utf-8")
            names |= {f"{room}.{suite}.{name}" for suite, name in TEST.findall(text) + TYPED.findall(text)}
    for path in [*ROOT.glob("tests/*/tests.cmake"), *ROOT.glob("tests/CMakeLists.txt"),
                 *ROOT.glob("examples/CMakeLists.txt")]:
        names |= {"ctest " + name for name in ADD_TEST.findall(path.read_text(encoding="utf-8"))}
    return names


def running_tests(build):
    """The same names as CTest lists them, parameters and types of generated tests dropped."""
    listing = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    names = set()
    for name in re.findall(r"Test\s+#\d+: (\S+)", listing):
        names.add("ctest " + name)
        room, _, rest = name.partition(".")
        # room.Instance/Suite.Name/parameter and room.Suite/type.Name become room.Suite.Name
        suite, _, test = re.sub(r"^\w+/(?=\w+\.)", "", rest).partition(".")
        names.add(f"{room}.{suite.split('/')[0]}.{test.split('/')[0]}")
    return names


def rows():
    """(line number, cells) of every row of every table in the page."""
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r"\| [\w.]+ \|", line) and not line.startswith("| id "):
            yield number, [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def check_row(cells, tests):
    """Yields what is wrong with one row."""
    if len(cells) != 5:
        yield f"{len(cells)} cells instead of 5"
        return
    _, _, statement, code, test = cells
    if len(statement) < 15:
        yield "says nothing"
    for path in re.findall(r"`([^`]+)`", code):
        if not (ROOT / path).exists():
            yield f"no such file: {path}"
    if LATER.search(test):
        return
    named = re.findall(r"`([^`]+)`", test)
    if not named:
        yield "names no test"
    if "`" not in code:
        yield "names no code"
    for name in named:
        if not ((ROOT / name).is_file() if "/" in name else name in tests):
            yield f"no such test: {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ctest", metavar="BUILD", help="compare with the tests that CTest runs in this folder")
    args = parser.parse_args()
    tests = declared_tests()
    if args.ctest:
        tests &= running_tests(args.ctest)

    problems, ids, per_section, items, later = [], set(), collections.Counter(), set(), 0
    for number, cells in rows():
        where = f"docs/coverage.md:{number} (row {cells[0]})"
        problems += [f"{where}: {problem}" for problem in check_row(cells, tests)]
        if cells[0] in ids:
            problems.append(f"{where}: the id is taken")
        ids.add(cells[0])
        if LATER.search(cells[-1]):
            later += 1
            continue
        per_section[".".join(cells[1].split(".")[:2])] += 1
        if cells[1].startswith("checklist "):
            items.add(int(cells[1].split()[1]))
    for section, least in MUST_ROWS.items():
        if per_section[section] < least:
            problems.append(f"docs/coverage.md: {per_section[section]} rows for section {section}, at least {least}")
    total = sum(per_section[s] for s in MUST_ROWS)
    if total < MUST_TOTAL:
        problems.append(f"docs/coverage.md: {total} rows for the sections due, at least {MUST_TOTAL}")
    problems += [f"docs/coverage.md: no row for item {i} of the checklist" for i in CHECKLIST if i not in items]
    print(*problems, sep="\n", end="\n" if problems else "")
    counts = ", ".join(f"{section}: {n}" for section, n in sorted(per_section.items()) if section[0].isdigit())
    print(f"check_coverage: {len(problems)} problems; {total} rows due ({counts}), {later} later")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
