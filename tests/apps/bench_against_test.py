#!/usr/bin/env python3
"""tools/bench_against.py with two engines that only pretend: their calls are logged, their speeds are known."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/bench_against.py"

# Speeds: 100 tokens a second and 10 more with each call (ours), 50 (theirs; with two threads half of it).
ENGINE = '''#!/usr/bin/env python3
import json, pathlib, sys
name, args, folder = "NAME", sys.argv[1:], pathlib.Path(__file__).parent
log = folder / "calls"
calls = log.read_text().splitlines() if log.exists() else []
log.write_text("\\n".join(calls + [name + " " + " ".join(args)]) + "\\n")
value = lambda flag, default: args[args.index(flag) + 1] if flag in args else default
if "--plan" in args:
    print("pp1\\npp2\\npp3\\npp4\\npp5\\npp6\\ntg32\\npp128 @ d512\\ntg32 @ d512")
    sys.exit(0)
if "--from" in args:
    sys.exit(0)
if name == "theirs" and "broken" in value("-m", ""):
    sys.exit("error: unknown architecture")
rows = []
for depth in value("-d", "0").split(","):
    tests = [(int(n), 0) for n in value("-p", "0").split(",")] + [(0, int(n)) for n in value("-n", "0").split(",")]
    for prompt, gen in tests:
        if prompt + gen == 0:
            continue
        ts = 100 + 10 * sum(c.startswith("ours") for c in calls) if name == "ours" else 100 / int(value("-t", "1"))
        rows.append(dict(build_commit=name + "1", n_threads=int(value("-t", "1")), n_prompt=prompt, n_gen=gen,
                         n_depth=int(depth), samples_ts=[ts], samples_ns=[1]))
        if name == "ours":
            rows[-1].update(isa="avx2", read_share=0.9, peak_share=0.5)
print(json.dumps(rows))
'''


class BenchAgainst(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        for name in ("ours", "theirs"):
            program = self.path / name
            program.write_text(ENGINE.replace("NAME", name))
            program.chmod(0o755)
        for name in ("good.gguf", "broken.gguf"):
            (self.path / name).write_bytes(b"GGUF")

    def tearDown(self):
        self.folder.cleanup()

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *map(str, arguments), "--maglio", self.path / "ours",
                               "--llama-bench", self.path / "theirs", "--threads", "2"],
                              capture_output=True, text=True)

    def calls(self):
        return [line.split()[0] for line in (self.path / "calls").read_text().splitlines()]

    def test_engines_take_turns_in_both_orders(self):
        done = self.run_script(self.path / "good.gguf", "--rounds", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), ["ours", "theirs", "theirs", "ours", "ours", "theirs"])
        # Of 100, 110 and 120 the median counts.
        self.assertIn("| good | pp512 | 110.0 | 50.0 | 2.20 | 50 % of peak |", done.stdout)
        self.assertIn("| good | tg128 | 110.0 | 50.0 | 2.20 | 90 % of read |", done.stdout)

    def test_the_readme_changes_between_its_markers_only(self):
        page = self.path / "README.md"
        page.write_text("before\n<!-- tools/bench_against.py: begin -->\nold\n<!-- tools/bench_against.py: end -->\nafter\n")
        done = self.run_script(self.path / "good.gguf", "--rounds", "1", "--readme", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n<!--") and text.endswith("-->\nafter\n"))
        self.assertNotIn("old", text)
        self.assertIn("| good | pp512 | 100.0 | 50.0 | 2.00 |", text)
        for part in ("avx2", "2 threads (llama.cpp: 2)", "maglio ours1", "llama.cpp theirs1", "1 samples"):
            self.assertIn(part, text)
        page.write_text("no markers\n")
        self.assertNotEqual(self.run_script(self.path / "good.gguf", "--rounds", "1", "--readme", page).returncode, 0)
        self.assertEqual(page.read_text(), "no markers\n")

    def test_a_peer_that_fails_on_one_model_leaves_the_others(self):
        done = self.run_script(self.path / "broken.gguf", self.path / "good.gguf", "--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| broken | pp512 | 105.0 | failed | – |", done.stdout)
        self.assertIn("| good | pp512 | 125.0 | 50.0 | 2.50 |", done.stdout)
        self.assertIn("unknown architecture", done.stderr)

    def test_results_grow_over_runs_and_are_replaced_by_newer_ones(self):
        results = self.path / "results.json"
        self.run_script(self.path / "good.gguf", "--rounds", "1", "--results", results)
        done = self.run_script(self.path / "good.gguf", "--rounds", "1", "--results", results, "--pp", "0", "--depths",
                               "64")
        self.assertIn("| good | pp512 | 100.0 |", done.stdout)
        self.assertIn("| good | tg128 | 110.0 |", done.stdout)
        self.assertIn("| good | tg128 @ d64 | 120.0 |", done.stdout)
        self.assertEqual(len(json.loads(results.read_text())), 3)

    def test_the_peer_may_choose_its_threads(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        done = self.run_script(self.path / "good.gguf", "--rounds", "1", "--peer-threads", "auto")
        self.assertIn("2 threads (llama.cpp: 1)", done.stdout)
        self.assertIn("| good | pp512 | 100.0 | 100.0 | 1.00 |", done.stdout)

    def test_of_several_numbers_of_threads_the_peers_best_counts(self):
        done = self.run_script(self.path / "good.gguf", "--rounds", "2", "--peer-threads", "2,1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), ["ours", "theirs", "theirs", "theirs", "theirs", "ours"])
        self.assertIn("2 threads (llama.cpp: 1)", done.stdout)
        self.assertIn("| good | tg128 | 105.0 | 100.0 | 1.05 |", done.stdout)
        self.assertIn("medians of 2 samples", done.stdout)

    def test_a_sweep_merges_the_samples_of_each_test(self):
        done = self.run_script(self.path / "good.gguf", "--rounds", "2", "--sweep", self.path / "sweep")
        self.assertEqual(done.returncode, 0, done.stderr)
        for engine in ("maglio", "llama.cpp"):
            rows = json.loads((self.path / f"sweep.{engine}.json").read_text())
            self.assertEqual([(r["n_prompt"], r["n_gen"], r["n_depth"]) for r in rows],
                             [(n, 0, 0) for n in range(1, 7)] + [(0, 32, 0), (128, 0, 512), (0, 32, 512)])
            self.assertTrue(all(len(r["samples_ts"]) == 2 for r in rows))
        last = (self.path / "calls").read_text().splitlines()[-1]
        self.assertIn("--versus", last)
        self.assertIn("sweep.svg", last)


if __name__ == "__main__":
    unittest.main()
