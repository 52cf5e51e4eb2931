#!/usr/bin/env python3
"""Speed of `maglio bench` beside llama.cpp's llama-bench, on the same files, in one interleaved run.

A machine that others use swings more from minute to minute than two good engines differ, so a time alone says little.
Each round runs both engines on one model, right after each other, and the next round in the other order; of all
samples the median counts, and the ratio is the figure to quote. Both see the same flags.

    tools/bench_against.py MODEL.gguf [MODEL.gguf …] --llama-bench PATH [--maglio build/release/maglio]
        [--pp 512] [--tg 128] [--rounds 3] [--repetitions 2] [--threads N] [--depth 0]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def samples(command):
    """Runs one benchmark; {(n_prompt, n_gen): [tokens per second, …]}."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return {(t["n_prompt"], t["n_gen"]): t["samples_ts"] for t in json.loads(done.stdout)}


def command(program, model, args):
    return [*program, "-m", str(model), "-p", args.pp, "-n", args.tg, "-r", str(args.repetitions),
            "-t", str(args.threads), "-d", str(args.depth), "-o", "json"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--maglio", default="build/release/maglio")
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--pp", default="512", help="prompt lengths, with commas")
    parser.add_argument("--tg", default="128", help="generation lengths, with commas")
    parser.add_argument("--depth", type=int, default=0, help="tokens already in the cache")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=2, help="samples of one run")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()

    engines = {"maglio": [args.maglio, "bench"], "llama.cpp": [args.llama_bench]}
    load = os.getloadavg()[0]
    print(f"{cpu_name()}, {args.threads} threads, medians of {args.rounds} x {args.repetitions} samples,"
          f" load average at the start {load:.1f}\n")
    if load > 0.5 * args.threads:
        print("The machine is busy: trust the ratios only.\n", file=sys.stderr)
    print("| model | test | maglio t/s | llama.cpp t/s | maglio / llama.cpp |\n|---|---|---|---|---|")
    for model in args.models:
        seen = {}  # (test, engine) -> samples
        for i in range(args.rounds):
            for engine in list(engines)[:: 1 if i % 2 == 0 else -1]:
                for test, speeds in samples(command(engines[engine], model, args)).items():
                    seen.setdefault((test, engine), []).extend(speeds)
        for test in dict.fromkeys(test for test, _ in seen):
            ours, theirs = (statistics.median(seen[test, engine]) for engine in engines)
            name = "+".join(f"{kind}{n}" for kind, n in zip(("pp", "tg"), test) if n)
            print(f"| {model.stem} | {name} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
