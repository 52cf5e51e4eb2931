#!/usr/bin/env python3
"""Measures experts read from disk against plain mmap, both in a memory cgroup smaller than the model.

    tools/bench_expert_streaming.py MODEL.gguf [--maglio build/release/maglio] [--share 0.4] [--cache-share 0.6]
                                    [--tokens 64] [--rounds 2] [--threads 2] [--ways mmap,cache,...] [--json OUT]

The cgroup may hold --share of the file's bytes; the expert cache gets --cache-share of that. Before each run the system
forgets the file's pages. Ways, one after the other in every round, all or those of --ways: mmap; cache, the expert cache as it
is; off, without lookahead; lru; learned, with what earlier runs taught. All must give the same tokens.

Printed for each way, medians over the rounds: tokens a second; what the process read, by the kernel's count
(ru_inblock: read_bytes of /proc/PID/io in blocks of 512) and, of experts, by maglio's own; both minus those of a run of
one token, so that loading is not in them; hit rate, recall of the lookahead, share of the disk's measured rate while
tokens were generated; the cgroup's highest usage and the process' largest resident set. The disk's rate is that of direct reads
at random places of the file, as large as an expert's matrix, by 8 threads. Needs root, for the cgroup; version 2 is used
where its memory controller can be had, else version 1.
"""
import argparse
import json
import mmap
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

PROMPT_TOKENS = 16


class Cgroup:
    """A memory cgroup with a limit, for as long as it is open."""

    def __init__(self, limit):
        name = f"maglio-bench-{os.getpid()}"
        v2 = pathlib.Path("/sys/fs/cgroup")
        v1 = v2 / "memory"
        if "memory" in self._read(v2 / "cgroup.subtree_control").split():
            self.version, self.path = 2, v2 / name
            self.path.mkdir()
            (self.path / "memory.max").write_text(str(limit))
            swap = self.path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        elif v1.is_dir():
            self.version, self.path = 1, v1 / name
            self.path.mkdir()
            (self.path / "memory.limit_in_bytes").write_text(str(limit))
        else:
            sys.exit("no memory controller of cgroups that can be written: nothing can be limited here")

    @staticmethod
    def _read(path):
        return path.read_text() if path.exists() else ""

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def reset_peak(self):
        peak = self.path / ("memory.peak" if self.version == 2 else "memory.max_usage_in_bytes")
        try:
            peak.write_text("0")
        except OSError:
            pass  # before Linux 6.12 the peak of version 2 is that of all runs

    def peak(self):
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        return int(self._read(self.path / name) or 0)

    def close(self):
        self.path.rmdir()


def forget(path):
    """Makes the system drop the file's pages, but for those that somebody else has mapped."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_rate(path, n_threads=8, n_bytes=432 << 10, total=1 << 30):
    """Bytes a second of direct reads at random places."""
    forget(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.fstat(descriptor).st_size
    places = random.Random(1)
    offsets = iter([places.randrange(0, (size - n_bytes) // 4096) * 4096 for _ in range(total // n_bytes)])
    lock = threading.Lock()
    done = []

    def work():
        buffer = mmap.mmap(-1, n_bytes)
        while True:
            with lock:
                offset = next(offsets, None)
            if offset is None:
                return
            done.append(os.preadv(descriptor, [buffer], offset))

    start = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(descriptor)
    return sum(done) / (time.perf_counter() - start)


def run(args, group, flags, n_tokens):
    """One process: its JSON, and what it cost."""
    forget(args.model)
    group.reset_peak()
    ids = random.Random(args.seed)
    prompt = ",".join(str(ids.randrange(1000, 100_000)) for _ in range(PROMPT_TOKENS))
    command = [args.maglio, "run", args.model, "--prompt-ids", prompt, "--gen", str(n_tokens), "--ignore-eos", "--temp",
               "0", "--json", "--ctx", "512", "--threads", str(args.threads), *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=group.enter)
    out = process.stdout.read()
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {process.returncode}: {err}")
    answer = json.loads(out)
    return {"answer": answer, "kernel_bytes": usage.ru_inblock * 512, "rss": usage.ru_maxrss * 1024,
            "peak": group.peak(), "rate": answer["timings"]["gen_per_second"]}


def measure(args, group, flags, one_token):
    """A run of --tokens less one of a single token."""
    full = run(args, group, flags, args.tokens)
    experts = full["answer"].get("experts")
    result = {"tokens_per_second": full["rate"], "prompt_per_second": full["answer"]["timings"]["prompt_per_second"],
              "kernel_bytes": full["kernel_bytes"] - one_token["kernel_bytes"], "peak": full["peak"],
              "rss": full["rss"], "ids": full["answer"]["ids"]}
    result["kernel_per_second"] = result["kernel_bytes"] / (full["answer"]["timings"]["gen_ms"] / 1000)
    if experts:
        result["reported_bytes"] = experts["bytes_read"] - one_token["answer"]["experts"]["bytes_read"]
        for key in ("hit_rate", "lookahead_recall", "stall_ms", "capacity", "n_experts", "pinned", "capacity_bytes"):
            result[key] = experts[key]
    return result


def median(results, key):
    return statistics.median(r[key] for r in results)


def ways_of(args, limit):
    """The flags of each way that was asked for."""
    cache = ["--expert-cache", str(int(limit * args.cache_share))]
    unlearned = [*cache, "--no-expert-learning"]
    ways = {"mmap": ["--experts", "mmap"], "cache": unlearned, "off": [*unlearned, "--no-expert-lookahead"],
            "lru": [*unlearned, "--expert-eviction", "lru"], "learned": cache}
    return {name: ways[name] for name in args.ways.split(",")}


def measure_all(args, group, ways, history):
    results = {way: [] for way in ways}
    seed = args.seed
    for teaching in range(2 if "learned" in ways else 0):  # what it knows: other prompts than the one that is measured
        args.seed = 100 + teaching
        run(args, group, ways["learned"], args.tokens)
    args.seed = seed
    taught = history.read_bytes() if history.exists() else b""
    for _ in range(args.rounds):
        for way, flags in ways.items():
            history.write_bytes(taught)
            one_token = run(args, group, flags, 1)
            history.write_bytes(taught)
            results[way].append(measure(args, group, flags, one_token))
    return results


def print_table(results, rate):
    base = next(iter(results))
    print(f"{'way':8} {'tok/s':>7} {'x ' + base:>8} {'kernel GB':>9} {'told GB':>8} {'apart':>7} {'of disk':>7} {'hits':>6} "
          f"{'recall':>6} {'stall s':>7} {'peak GB':>7} {'RSS GB':>6}  rounds' x {base}")
    for way, rs in results.items():
        told = median(rs, "reported_bytes") if "hit_rate" in rs[0] else None
        kernel = median(rs, "kernel_bytes")
        pairs = [r["tokens_per_second"] / b["tokens_per_second"] for r, b in zip(rs, results[base])]
        print(f"{way:8} {median(rs, 'tokens_per_second'):7.2f} {statistics.median(pairs):8.2f} {kernel / 1e9:9.3f} " +
              (f"{told / 1e9:8.3f} {kernel / told - 1 if told else 0:+7.1%}" if told is not None else " " * 16) +
              f" {median(rs, 'kernel_per_second') / rate:7.0%} " +
              (f"{median(rs, 'hit_rate'):6.1%} {median(rs, 'lookahead_recall'):6.1%} {median(rs, 'stall_ms') / 1000:7.2f}"
               if told is not None else " " * 21) +
              f" {median(rs, 'peak') / 1e9:7.2f} {median(rs, 'rss') / 1e9:6.2f}  " + " ".join(f"{p:.2f}" for p in pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--maglio", default="build/release/maglio")
    parser.add_argument("--share", type=float, default=0.4)
    parser.add_argument("--cache-share", type=float, default=0.6)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", default="mmap,cache,off,lru,learned",
                        help="in this order; the others are compared with the first, round by round [%(default)s]")
    parser.add_argument("--json", help="write all results to this file")
    args = parser.parse_args()

    size = os.path.getsize(args.model)
    limit = int(size * args.share)
    history = pathlib.Path(args.model + ".experts")
    history.unlink(missing_ok=True)
    ways = ways_of(args, limit)
    rate = disk_rate(args.model)
    group = Cgroup(limit)
    print(f"{args.model}: {size / 1e9:.2f} GB; limit {limit / 1e9:.2f} GB (cgroup v{group.version}); "
          f"disk {rate / 1e9:.2f} GB/s at random places")
    try:
        results = measure_all(args, group, ways, history)
    finally:
        group.close()
        history.unlink(missing_ok=True)

    runs = [r for rs in results.values() for r in rs]
    same = all(r["ids"] == runs[0]["ids"] for r in runs)
    print(f"tokens equal in every way: {'yes' if same else 'NO'}")
    print_table(results, rate)
    within = all(r["peak"] <= limit for r in runs)
    cached = next((r for r in runs if "capacity" in r), None)
    if cached:
        print(f"cache: {cached['capacity']} of {cached['n_experts']} experts, {cached['capacity_bytes'] / 1e9:.2f} GB, "
              f"pinned at most {max(r.get('pinned', 0) for r in runs)}")
    print(f"usage within the limit: {'yes' if within else 'NO'}; disk afterwards {disk_rate(args.model) / 1e9:.2f} GB/s")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"limit": limit, "disk_rate": rate, "results": results}))
    sys.exit(0 if same and within else 1)


if __name__ == "__main__":
    main()
