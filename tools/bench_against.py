#!/usr/bin/env python3
"""Speed of `maglio bench` beside llama.cpp's llama-bench, on the same files, in one interleaved run.

A machine that others use swings more from minute to minute than two good engines differ, so a time alone says little.
Each round runs both engines on the same few tests, right after each other, and the next round in the other order
(A B, B A, A B); of all samples the median counts, and the ratio is the figure to quote.

    tools/bench_against.py MODEL.gguf … --llama-bench PATH [--maglio build/release/maglio]
        [--pp 512] [--tg 128] [--small] [--depths 8192] [--rounds 3] [--repetitions 2]
        [--threads N] [--peer-threads N|N,N|auto] [--results FILE.json] [--readme README.md]
    tools/bench_against.py MODEL.gguf --llama-bench PATH --sweep docs/sweep [--depths 0,512,…]

--peer-threads 1,2 runs the peer with each number of threads and counts, test by test, the one it is faster with: of a
mixture (tools/make_model.py --geometry qwen3moe-30b-a3b --layers 6) prompts may want two threads and generation one.
--small adds prompts of 2 to 16 tokens; --depths adds generation behind so many tokens. --results keeps the samples in a
file, to which later runs add models and tests; --readme writes the table between its markers. --sweep PREFIX measures
what `maglio bench --sweep` would and writes PREFIX.svg, PREFIX.maglio.json and PREFIX.llama.cpp.json.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

BEGIN, END = "<!-- tools/bench_against.py: begin -->", "<!-- tools/bench_against.py: end -->"
SMALL = "2,3,4,6,8,12,16"
PEER = "llama.cpp"


class Failed(Exception):
    """An engine that ended with an error, or printed something else than results."""


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def read_once(path):
    """Brings the file into the page cache, so that the first engine does not pay for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


class Engines:
    """The two programs; each runs tests and gives its rows of JSON."""

    def __init__(self, args):
        self.programs = {"maglio": [args.maglio, "bench"], PEER: [args.llama_bench]}
        self.threads = {"maglio": [args.threads], PEER: [args.threads]}  # each of them is run, the fastest counts
        self.repetitions = args.repetitions

    def run(self, engine, model, tests, threads, repetitions=None):
        """tests: flags as both spell them. Raises Failed."""
        command = [*self.programs[engine], "-m", str(model), *tests, "-o", "json",
                   "-t", str(threads), "-r", str(repetitions or self.repetitions)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failed(f"exit code {done.returncode}: {done.stderr.strip()[-400:]}")
            return json.loads(done.stdout)
        except (OSError, json.JSONDecodeError) as error:
            raise Failed(str(error)) from error

    def in_turns(self, model, tests, rounds):
        """{engine: [rows of all rounds, with its best number of threads for each test]}; an engine that fails is left
        out from then on, with a note."""
        rows = {engine: [] for engine in self.programs}
        for i in range(rounds):
            for engine in list(self.programs)[:: 1 if i % 2 == 0 else -1]:
                if engine not in rows:
                    continue
                try:
                    for threads in self.threads[engine]:
                        rows[engine] += self.run(engine, model, tests, threads)
                except Failed as failure:
                    print(f"{engine} fails on {model.name} {' '.join(tests)}: {failure}", file=sys.stderr)
                    del rows[engine]
        return {engine: with_best_threads(found) for engine, found in rows.items()}

    def find_peer_threads(self, model):
        """The number of threads with which the peer is fastest, prompt and generation taken together."""
        best, best_speed = self.threads[PEER][0], 0
        for n in range(1, len(os.sched_getaffinity(0)) + 1):
            try:
                rows = self.run(PEER, model, ["-p", "64", "-n", "16"], threads=n, repetitions=2)
            except Failed as failure:
                print(f"{PEER} fails with {n} threads: {failure}", file=sys.stderr)
                continue
            speed = math.prod(statistics.median(row["samples_ts"]) for row in rows)
            if speed > best_speed:
                best, best_speed = n, speed
        self.threads[PEER] = [best]


def test_of(row):
    return row["n_prompt"], row["n_gen"], row["n_depth"]


def with_best_threads(rows):
    """Of each test the rows of that number of threads whose median is the highest."""
    samples = {}
    for row in rows:
        samples.setdefault((test_of(row), row["n_threads"]), []).extend(row["samples_ts"])
    best = {}
    for (test, threads), speeds in samples.items():
        best[test] = max(best.get(test, (0, 0)), (statistics.median(speeds), threads))
    return [row for row in rows if row["n_threads"] == best[test_of(row)][1]]


def test_name(test):
    prompt, gen, depth = test
    return "+".join(f"{kind}{n}" for kind, n in (("pp", prompt), ("tg", gen)) if n) + (f" @ d{depth}" if depth else "")


def merged(rows):
    """One row for each test, with the samples of all."""
    tests = {}
    for row in rows:
        first = tests.setdefault(test_of(row), row)
        if first is not row:
            for key in ("samples_ts", "samples_ns"):
                first[key] = first[key] + row[key]
    return list(tests.values())


def summary(model, rows):
    """[what the table says of one test], as --results keeps it."""
    entries = {}
    for engine, name in (("maglio", "ours"), (PEER, "theirs")):
        for row in rows.get(engine, []):
            entry = entries.setdefault(test_of(row), {"model": model.stem, "test": list(test_of(row)), "ours": [],
                                                      "theirs": [], "shares": [], "isa": ""})
            entry[name] += row["samples_ts"]
            entry[f"{name}_build"] = row["build_commit"]
            entry[f"{name}_threads"] = row["n_threads"]
            if engine == "maglio":
                entry["shares"].append(row["read_share"] if row["n_prompt"] == 0 else row["peak_share"])
                entry["isa"] = row["isa"]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return [dict(entry, cpu=cpu_name(), date=date) for entry in entries.values()]


def table(entries):
    """Markdown: how it was measured, and a row for each model and test."""
    def all_of(key):
        return ", ".join(str(x) for x in sorted({e[key] for e in entries if e.get(key)}))
    n_samples = sorted({len(e["ours"]) for e in entries if e["ours"]})
    lines = [f"{all_of('cpu')}, {all_of('isa')}, {all_of('ours_threads')} threads ({PEER}: {all_of('theirs_threads')}); "
             f"maglio {all_of('ours_build')}, {PEER} {all_of('theirs_build')}; {all_of('date')}. Tokens per second, both "
             f"engines in turns and both orders, medians of {' to '.join(map(str, n_samples[:1] + n_samples[1:][-1:]))} "
             "samples.",
             "", f"| model | test | maglio | {PEER} | ratio | of this machine's limit |",
             "|---|---|---:|---:|---:|---:|"]
    for e in entries:
        ours, theirs = (statistics.median(e[side]) if e[side] else None for side in ("ours", "theirs"))
        ratio = f"{ours / theirs:.2f}" if ours and theirs else "–"
        limit = "read" if e["test"][0] == 0 else "peak"
        share = f"{100 * statistics.median(e['shares']):.0f} % of {limit}" if e["shares"] else "–"
        speeds = (f"{x:.1f}" if x else "failed" for x in (ours, theirs))
        lines.append(f"| {e['model']} | {test_name(e['test'])} | {' | '.join(speeds)} | {ratio} | {share} |")
    return "\n".join(lines)


def write_between_markers(path, text):
    page = path.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise SystemExit(f"{path}: expected one line '{BEGIN}' before one line '{END}'")
    head, tail = page[:page.index(BEGIN) + len(BEGIN)], page[page.index(END):]
    path.write_text(f"{head}\n{text}\n{tail}", encoding="utf-8")


def compare(args, engines):
    known = json.loads(args.results.read_text(encoding="utf-8")) if args.results and args.results.exists() else []
    for model in args.models:
        read_once(model)
        if args.peer_threads == "auto":
            engines.find_peer_threads(model)
        runs = [["-p", args.pp, "-n", args.tg]]
        runs += [["-p", SMALL, "-n", "0"]] if args.small else []
        runs += [["-p", "0", "-n", args.tg, "-d", depth] for depth in (args.depths or "").split(",") if depth]
        for tests in runs:
            new = summary(model, engines.in_turns(model, tests, args.rounds))
            replaced = {(e["model"], tuple(e["test"])) for e in new}
            known = [e for e in known if (e["model"], tuple(e["test"])) not in replaced] + new
            if args.results:
                args.results.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    order = list(dict.fromkeys(e["model"] for e in known))
    known.sort(key=lambda e: order.index(e["model"]))
    print(table(known))
    if args.readme:
        write_between_markers(args.readme, table(known))


def sweep_commands(args, model):
    """What the program's own sweep measures, in runs short enough to compare neighbours."""
    plan = subprocess.run([args.maglio, "bench", str(model), "--sweep", "--plan",
                           *(["-d", args.depths] if args.depths else [])], capture_output=True, text=True, check=True)
    lengths, depths = [], {}
    for line in plan.stdout.splitlines():
        kind, n, depth = re.fullmatch(r"(pp|tg)(\d+)(?: @ d(\d+))?", line).groups()
        if kind == "pp" and depth is None:
            lengths.append(n)
        else:
            depths.setdefault(depth or "0", {})[kind] = n
    for i in range(0, len(lengths), 5):
        yield ["-p", ",".join(lengths[i:i + 5]), "-n", "0"]
    for depth, counts in depths.items():
        yield ["-p", counts.get("pp", "0"), "-n", counts.get("tg", "0"), "-d", depth]


def sweep(args, engines):
    model = args.models[0]
    read_once(model)
    if args.peer_threads == "auto":
        engines.find_peer_threads(model)
    rows = {engine: [] for engine in engines.programs}
    files = {engine: f"{args.sweep}.{engine}.json" for engine in rows}
    for tests in sweep_commands(args, model):
        for engine, new in engines.in_turns(model, tests, args.rounds).items():
            rows[engine] = merged(rows[engine] + new)
            pathlib.Path(files[engine]).write_text(json.dumps(rows[engine], indent=1) + "\n", encoding="utf-8")
    subprocess.run([args.maglio, "bench", "--from", files["maglio"], "--versus", files[PEER], "--plot",
                    f"{args.sweep}.svg"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--maglio", default="build/release/maglio")
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--pp", default="512", help="prompt lengths, with commas")
    parser.add_argument("--tg", default="128", help="generation lengths, with commas")
    parser.add_argument("--small", action="store_true", help=f"prompts of {SMALL} tokens too")
    parser.add_argument("--depths", help="generation behind so many tokens too, with commas; of a sweep: its depths")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=2, help="samples of one run")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-threads", help="threads of llama-bench; several, with commas: the best of each test counts; "
                             "'auto': one number, the one it is fastest with")
    parser.add_argument("--results", type=pathlib.Path, help="JSON file to keep the samples in")
    parser.add_argument("--readme", type=pathlib.Path, help="page to write the table into, between its markers")
    parser.add_argument("--sweep", metavar="PREFIX", help="compare over the sweep's lengths and depths instead")
    args = parser.parse_args()
    if args.sweep and len(args.models) != 1:
        parser.error("--sweep: expected one model")

    engines = Engines(args)
    if args.peer_threads and args.peer_threads != "auto":
        engines.threads[PEER] = [int(n) for n in args.peer_threads.split(",")]
    if os.getloadavg()[0] > 0.5 * args.threads:
        print("The machine is busy: trust the ratios only.", file=sys.stderr)
    (sweep if args.sweep else compare)(args, engines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
