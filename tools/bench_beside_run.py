#!/usr/bin/env python3
"""Whether `maglio bench` says what a user sees: its times beside the wall time of `maglio run`, in turns.

The wall time of run is taken from outside, as the difference of two whole processes that differ in what is to be
measured: the same prompt continued by 8 and by 8 + N tokens, and one continued by one token after 1 and after 1 + P
prompt tokens. Loading, start-up and the rest cancel; sampling, decoding of text and printing stay in, which bench leaves
out. Of all rounds the median counts.

    tools/bench_beside_run.py MODEL.gguf [--maglio build/release/maglio] [--tg 128] [--pp 512] [--rounds 5] [--threads N]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

FEW = 8


def wall_seconds(args, n_prompt, n_gen):
    command = [args.maglio, "run", args.model, "--prompt-ids", ",".join(["1"] * n_prompt), "--gen", str(n_gen),
               "--ignore-eos", "--threads", str(args.threads), "--ctx", str(args.pp + args.tg + 64)]
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def bench_seconds(args, *flags):
    """The median sample of the one test."""
    done = subprocess.run([args.maglio, "bench", args.model, *flags, "-t", str(args.threads), "-r", "1", "-o", "json"],
                          capture_output=True, text=True, check=True)
    return statistics.median(json.loads(done.stdout)[0]["samples_ns"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--maglio", default="build/release/maglio")
    parser.add_argument("--tg", type=int, default=128)
    parser.add_argument("--pp", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()

    def generation():
        return wall_seconds(args, 1, FEW + args.tg) - wall_seconds(args, 1, FEW)

    def prompt():
        return wall_seconds(args, 1 + args.pp, 1) - wall_seconds(args, 1, 1)

    pairs = [(f"tg{args.tg}", generation, ("-p", "0", "-n", str(args.tg), "-d", str(FEW))),
             (f"pp{args.pp}", prompt, ("-p", str(args.pp), "-n", "0"))]
    print("| test | run, wall time | bench | run / bench |\n|---|---|---|---|")
    for name, run, flags in pairs:
        times = [], []
        for i in range(args.rounds):
            measures = [lambda: times[0].append(run()), lambda: times[1].append(bench_seconds(args, *flags))]
            for measure in measures[:: 1 if i % 2 == 0 else -1]:
                measure()
        run_s, bench_s = map(statistics.median, times)
        print(f"| {name} | {run_s:.3f} s | {bench_s:.3f} s | {run_s / bench_s:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
