#!/usr/bin/env python3
"""How far from the truth are the logits? maglio and llama.cpp, side by side, against the float64 reference.

For each model: seeded prompts of 5 to 200 tokens; the error is the root mean square of the difference in the logits
after the last token, in standard deviations of the reference's logits. Printed as a markdown table: the geometric
mean of both engines' errors, of the ratio maglio / llama.cpp prompt by prompt, its worst case, and how often the most
likely token is the reference's. The reference's logits are kept in a cache folder, for they take longest.

    pip install numpy gguf llama-cpp-python
    tools/compare_accuracy.py MODEL.gguf [MODEL.gguf …] [--maglio build/release/maglio] [--text FILE]

--text draws the prompts from windows of a real text (a trained model deserves real prompts) instead of random ids.
--only llama checks the yardstick before maglio runs. --fail-above R exits 1 when a mean ratio exceeds R.
--expert-top-p P lets maglio drop a mixture's light experts; the table then says which share of the choices is left.
"""
import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import llama_logits
from reference import Reference, relative_rms


def random_prompts(n_prompts, n_ids, seed):
    """Prompts of random ordinary tokens. Specials sit at either end of a large vocabulary, so both ends are left out."""
    rng = np.random.default_rng(seed)
    low, high = (256, int(n_ids * 0.98)) if n_ids > 1000 else (0, n_ids)
    return [rng.integers(low, high, rng.integers(5, 201)).tolist() for _ in range(n_prompts)]


def text_prompts(n_prompts, ids, seed):
    """Windows of a tokenized text."""
    rng = np.random.default_rng(seed)
    prompts = []
    for _ in range(n_prompts):
        length = rng.integers(5, 201)
        start = rng.integers(0, len(ids) - length)
        prompts.append(ids[start:start + length])
    return prompts


def cached_reference(path, prompts, window, folder):
    """Logits, [n_prompts, vocab] float64, and the weights of the chosen experts, the heaviest first: [layers, tokens,
    experts used], no layers in a dense model. Computed once per file, prompts and window."""
    stat = path.stat()
    source = pathlib.Path(__file__).with_name("reference.py").read_bytes()
    key = hashlib.sha256(repr((path.name, stat.st_size, stat.st_mtime_ns, prompts, window)).encode() + source)
    file = folder / f"{path.stem}-{key.hexdigest()[:16]}.npz"
    if file.exists():
        kept = np.load(file)
        return kept["logits"], kept["weights"]
    reference = Reference(str(path))
    logits = reference.last_logits(prompts, window)
    weights = np.array([w for _, w in reference.routings])
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(file, logits=logits, weights=weights)
    return logits, weights


def share_left(weights, top_p):
    """Of the choices of experts: a token keeps the fewest, from the heaviest on, that reach top_p of their sum."""
    if top_p >= 1:
        return 1.0
    before = np.cumsum(weights, axis=-1) - weights
    return float(np.mean((before < top_p * weights.sum(axis=-1, keepdims=True)) | (np.arange(weights.shape[-1]) == 0)))


def maglio_logits(binary, path, prompts, threads, extra):
    """Runs the program once a prompt, as a user would: this also tests its flags."""
    with tempfile.TemporaryDirectory() as folder:
        for ids in prompts:
            out = pathlib.Path(folder) / "logits.f32"
            command = [binary, "run", str(path), "--prompt-ids", ",".join(map(str, ids)), "--logits-out", str(out),
                       "--threads", str(threads), *extra]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(command[:4])} … failed:\n{done.stderr}")
            yield np.fromfile(out, "<f4")


def geometric_mean(x):
    return float(np.exp(np.mean(np.log(np.maximum(x, 1e-30)))))


def measure(args, path):
    """(errors, share of best tokens right) of maglio and of llama.cpp, None where one is left out; share of experts left."""
    theirs = llama_logits.LlamaCpp(path, args.threads, package=args.package, library=args.library)
    if args.text:
        ids = theirs.tokenize(pathlib.Path(args.text).read_text(encoding="utf-8"), add_special=False)
        prompts = text_prompts(args.prompts, ids, args.seed)
    else:
        prompts = random_prompts(args.prompts, theirs.n_vocab, args.seed)
    reference, weights = cached_reference(path, prompts, None, args.cache)
    best = reference.argmax(axis=1)
    results = []
    for engine in ("maglio", "llama"):
        if args.only not in (None, engine):
            results.append((None, None))
            continue
        rows = (maglio_logits(args.maglio, path, prompts, args.threads, maglio_flags(args)) if engine == "maglio"
                else map(theirs.last_logits, prompts))
        errors, right = [], []
        for row, expected, token in zip(rows, reference, best):
            errors.append(relative_rms(row.astype(np.float64), expected))
            right.append(row.argmax() == token)
        results.append((np.array(errors), float(np.mean(right))))
    theirs.close()
    left = share_left(weights, args.expert_top_p) if args.expert_top_p is not None and weights.size else None
    return *results, left


def maglio_flags(args):
    return args.maglio_flag + ([f"--expert-top-p={args.expert_top_p}"] if args.expert_top_p is not None else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--maglio", default="build/release/maglio")
    parser.add_argument("--maglio-flag", action="append", default=[], help="handed on to maglio run, e.g. --maglio-flag=--cache-type=q8_0")
    parser.add_argument("--expert-top-p", type=float, help="handed on to maglio")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--text", help="draw the prompts from this UTF-8 text")
    parser.add_argument("--only", choices=["maglio", "llama"])
    parser.add_argument("--fail-above", type=float)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "maglio-reference")
    llama_logits.add_arguments(parser)
    args = parser.parse_args()

    print(f"| model ({args.prompts} prompts) | maglio | llama.cpp | ratio | worst | best token: maglio, llama.cpp |")
    print("|---|---|---|---|---|---|")
    failed = False
    for path in args.models:
        (ours, our_best), (theirs, their_best), left = measure(args, path)
        cells = [f"{geometric_mean(e):.2e}" if e is not None else "–" for e in (ours, theirs)]
        if ours is not None and theirs is not None:
            ratio = ours / theirs
            failed |= args.fail_above is not None and geometric_mean(ratio) > args.fail_above
            cells += [f"{geometric_mean(ratio):.3f}", f"{ratio.max():.3f}"]
        else:
            cells += ["–", "–"]
        share = ", ".join(f"{b:.0%}" if b is not None else "–" for b in (our_best, their_best))
        name = path.stem if left is None else f"{path.stem}, top_p {args.expert_top_p}: {left:.1%} of the experts"
        print(f"| {name} | " + " | ".join(cells) + f" | {share} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
