#!/usr/bin/env python3
"""Breaks the code on purpose and sees whether the tests notice.

tests/mutations/mutations.toml lists small faults: a place in the source, what stands there, what to put instead, and
the test that must turn red. Each is applied to a copy of the tree, its room's tests are built, the named test is run,
and the copy is put right again. A test that stays green, or a place that is no longer found once and only once, fails.
White space in the pattern matches any white space, so reformatting the code breaks no mutation.

    tools/mutate.py                      # all, in build/mutate
    tools/mutate.py --only rope          # those whose name contains "rope"
    tools/mutate.py --dry-run            # only checks that every place and every test is there
    tools/mutate.py --list FILE          # another list: tests/mutations/sampled.toml
    tools/mutate.py --scratch DIR --jobs 2
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/mutations/mutations.toml"
PROGRAMS = {"course": "examples/course_tests"}  # room -> program, else tests/ROOM_tests


def locate(text, pattern):
    """(begin, end) of the only place where pattern stands, whatever the white space; else the count."""
    words = re.findall(r"\w+|[^\w\s]", pattern)
    places = list(re.finditer(r"\s*".join(map(re.escape, words)), text))
    return places[0].span() if len(places) == 1 else len(places)


def refresh(scratch):
    """Makes scratch a copy of the tracked and new files of the tree, leaving equal files (and their times) alone."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {name for name in names if (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, scratch / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(source.stat().st_mode)
    for path in scratch.rglob("*"):
        name = path.relative_to(scratch).as_posix()
        if path.is_file() and not name.startswith("build/") and name not in wanted:
            path.unlink()


class Tree:
    """The copy, built with the preset `check`."""

    def __init__(self, scratch, jobs):
        self.scratch, self.jobs = scratch, jobs
        self.build = scratch / "build/check"
        self.baseline = {}  # test -> passes on the unchanged code
        refresh(scratch)
        if (ROOT / "models").is_dir() and not (scratch / "models").exists():
            (scratch / "models").symlink_to(ROOT / "models")  # vocabularies, not in the repository
        self.command(["cmake", "--preset", "check"], must=True)

    def command(self, command, must=False):
        done = subprocess.run(command, cwd=self.scratch, capture_output=True, text=True)
        if must and done.returncode != 0:
            raise SystemExit(f"mutate.py: {' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def run(self, test):
        """'pass', 'fail' or 'does not compile' (which is how a must-not-compile rule would notice)."""
        if test.startswith("ctest "):
            done = self.command(["ctest", "--test-dir", self.build, "-R", f"^{test[6:]}$", "--no-tests=error"])
            return "pass" if done.returncode == 0 else "fail"
        room, suite, name = test.split(".")
        program = PROGRAMS.get(room, f"tests/{room}_tests")
        if self.command(["ninja", "-C", self.build, f"-j{self.jobs}", program]).returncode != 0:
            return "does not compile"
        patterns = f"{suite}.{name}:*/{suite}.{name}/*:{suite}/*.{name}"
        done = self.command([self.build / program, f"--gtest_filter={patterns}"])
        if re.search(r"Running 0 tests", done.stdout):
            raise SystemExit(f"mutate.py: no test {test}")
        if re.search(r"\[  SKIPPED \]", done.stdout):
            raise SystemExit(f"mutate.py: {test} skips itself here")
        return "pass" if done.returncode == 0 else "fail"

    def passes_unchanged(self, test):
        if test not in self.baseline:
            self.baseline[test] = self.run(test) == "pass"
        return self.baseline[test]

    def try_mutation(self, mutation):
        """'red', or what is wrong."""
        if not self.passes_unchanged(mutation["test"]):
            return "the test fails without the mutation"
        path = self.scratch / mutation["file"]
        original = path.read_text(encoding="utf-8")
        begin, end = locate(original, mutation["find"])
        try:
            path.write_text(original[:begin] + mutation["replace"] + original[end:], encoding="utf-8")
            result = self.run(mutation["test"])
        finally:
            path.write_text(original, encoding="utf-8")
        return {"fail": "red", "pass": "STAYS GREEN"}.get(result, result)


def check_list(mutations):
    """Yields what is wrong with the list itself."""
    names = [m["name"] for m in mutations]
    for name in {n for n in names if names.count(n) > 1}:
        yield f"{name}: the name is taken"
    for m in mutations:
        path = ROOT / m["file"]
        if not path.is_file():
            yield f"{m['name']}: no such file: {m['file']}"
            continue
        place = locate(path.read_text(encoding="utf-8"), m["find"])
        if isinstance(place, int):
            yield f"{m['name']}: found {place} times in {m['file']}, must be once: {m['find']}"
        if m["test"].startswith("ctest "):
            continue
        room, suite, name = m["test"].split(".")
        folder = ROOT / ("examples/course" if room == "course" else f"tests/{room}")
        declared = re.compile(rf"TEST(_F|_P)?\(\s*{suite}\s*,\s*{name}\s*\)")
        if not any(declared.search(p.read_text(encoding="utf-8")) for p in folder.glob("*_test.cpp")):
            yield f"{m['name']}: no such test: {m['test']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="mutations whose name contains this")
    parser.add_argument("--list", type=pathlib.Path, default=LIST)
    parser.add_argument("--dry-run", action="store_true", help="check the list, build nothing")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build/mutate")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    mutations = [m for m in tomllib.loads(args.list.read_text(encoding="utf-8"))["mutation"] if args.only in m["name"]]
    problems = list(check_list(mutations))
    print(*problems, sep="\n", end="\n" if problems else "")
    if args.dry_run or problems:
        print(f"mutate: {len(mutations)} mutations, {len(problems)} problems")
        return 1 if problems else 0

    tree = Tree(args.scratch.resolve(), args.jobs)
    print("| mutation | what it does | test | result | s |\n|---|---|---|---|---|")
    green = 0
    for m in mutations:
        begin = time.monotonic()
        result = tree.try_mutation(m)
        green += result != "red"
        print(f"| {m['name']} | {m['what']} | `{m['test']}` | {result} | {time.monotonic() - begin:.0f} |", flush=True)
    print(f"\n{len(mutations) - green} of {len(mutations)} turn their test red.")
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main())
