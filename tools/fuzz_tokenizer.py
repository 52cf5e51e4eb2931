#!/usr/bin/env python3
"""Compares maglio's ids with those of the Rust library behind Hugging Face's tokenizers, on random text.

    tools/fuzz_tokenizer.py                             # 10 seconds, a fresh seed (printed)
    tools/fuzz_tokenizer.py --seconds 300 --seed 42
    tools/fuzz_tokenizer.py --tokenizer-json FILE       # Qwen3's own tokenizer.json instead of the vocabulary file

Both normalisations are compared: none (llama.cpp's way) and NFC (Hugging Face's). The two need not agree on a version
of Unicode: texts hold no character that Python's had not assigned, and NFC is compared on those of Unicode 3.2 (that
library's tables are from before 13: it does not reorder U+1AC0). No U+017F: (?i:'s) matches it there, and llama.cpp's
rule, which maglio follows, does not.

Installs the PyPI package "tokenizers" into build/tokenizers-venv if it is missing. Exit codes: 0 equal, 1 a difference
(the shortest text that shows it is printed), 77 skipped because something is missing.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata
import venv

sys.dont_write_bytecode = True
from fetch_test_data import read_metadata, read_strings  # noqa: E402
from tokenizer_samples import LINES, SPACES, SPECIALS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build/tokenizers-venv"
PACKAGE = "tokenizers==0.23.3"
SKIPPED = 77
# Ends every text: a control token, so that texts do not touch each other.
SEPARATOR, SEPARATOR_ID = "<|endoftext|>", 151643
QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                r"|\s+(?!\S)|\s+")


def skip(reason):
    print(f"fuzz_tokenizer: SKIPPED, NOT PASSED: {reason}")
    sys.exit(SKIPPED)


def import_tokenizers():
    """The module; starts this script again inside a virtual environment that has it."""
    try:
        import tokenizers
        return tokenizers
    except ImportError:
        python = VENV / "bin/python"
    if pathlib.Path(sys.prefix) == VENV:
        skip(f"{PACKAGE} is not in {VENV}")
    if not python.exists() or subprocess.run([python, "-c", "import tokenizers"], capture_output=True).returncode:
        try:
            venv.create(VENV, with_pip=True)
            subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", PACKAGE],
                           check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            skip(f"cannot install {PACKAGE}: {error}")
    os.execv(python, [str(python), *sys.argv])


def reference_tokenizer(tokenizers, arguments):
    """Qwen3's tokenizer without its normaliser, as Hugging Face's library runs it."""
    if arguments.tokenizer_json:
        reference = tokenizers.Tokenizer.from_file(str(arguments.tokenizer_json))
        reference.normalizer = tokenizers.normalizers.Sequence([])
        return reference
    pairs = read_metadata(arguments.vocab.read_bytes())
    tokens = read_strings(pairs["tokenizer.ggml.tokens"][1])
    merges = [tuple(m.split(" ")) for m in read_strings(pairs["tokenizer.ggml.merges"][1])]
    model = tokenizers.models.BPE({t: i for i, t in enumerate(tokens[:SEPARATOR_ID])}, merges)
    reference = tokenizers.Tokenizer(model)
    reference.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(QWEN_PATTERN), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    added = [t for t in tokens[SEPARATOR_ID:] if not t.startswith("[PAD")]
    reference.add_tokens([tokenizers.AddedToken(t, normalized=False, special=False) for t in added])
    return reference


# --- Random texts -------------------------------------------------------------------------------------------------

ASSIGNED = [chr(c) for c in range(0x110000)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and c != 0x17F]
DENSE = [c for c in ASSIGNED if ord(c) < 0x3000]
MARKS = [c for c in ASSIGNED if unicodedata.category(c)[0] == "M"]
NUMBERS = [c for c in ASSIGNED if unicodedata.category(c)[0] == "N"]
OLD = {c for c in ASSIGNED if unicodedata.ucd_3_2_0.category(c) != "Cn"}
QWEN_SPECIALS = [s for s in SPECIALS if s != SEPARATOR]


def random_text(rng):
    makers = [
        lambda: rng.choice(LINES),
        lambda: rng.choice(rng.choice(LINES).split(" ")),
        lambda: "".join(rng.choices(ASSIGNED, k=rng.randint(1, 8))),
        lambda: "".join(rng.choices(DENSE, k=rng.randint(1, 12))),
        lambda: "".join(chr(rng.randrange(128)) for _ in range(rng.randint(1, 20))),
        lambda: rng.choice(DENSE) + "".join(rng.choices(MARKS, k=rng.randint(1, 4))),
        lambda: "".join(rng.choices(NUMBERS + list("0123456789") * 60, k=rng.randint(1, 9))),
        lambda: "'" + rng.choice(["s", "S", "t", "RE", "Ve", "m", "lL", "d", "x", "", "’s", " s"]),
        lambda: rng.choice(SPACES + ["\n", "\r", "\t", "\r\n"]) * rng.randint(1, 5),
        lambda: rng.choice(QWEN_SPECIALS),
        lambda: rng.choice(QWEN_SPECIALS)[:-rng.randint(1, 3)],
        lambda: rng.choice("=-_.#*a A中🙂\n") * rng.randint(2, 70),
    ]
    text = "".join(rng.choice(makers)() for _ in range(rng.randint(1, 12)))
    return text.replace(SEPARATOR, "").replace("\u017f", "s")


def maglio_ids(arguments, texts, normalize):
    """The ids of each text, by one run of the program over all of them."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write("".join(text + SEPARATOR for text in texts).encode("utf-8"))
        file.flush()
        command = [arguments.binary, "tokenize", arguments.vocab, file.name, "--no-bos", "--normalize", normalize]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lists, ids = [], []
    for line in out.split():
        if int(line) == SEPARATOR_ID:
            lists.append(ids)
            ids = []
        else:
            ids.append(int(line))
    assert not ids and len(lists) == len(texts), "separators were lost"
    return lists


def differs(arguments, reference, text, normalize):
    return maglio_ids(arguments, [text], normalize)[0] != reference.encode(text, add_special_tokens=False).ids


def shrink(arguments, reference, text, normalize):
    """A shorter text that still differs: drop ever smaller pieces while that is so."""
    size = len(text) // 2
    while size:
        for i in range(0, len(text), size):
            shorter = text[:i] + text[i + size:]
            if differs(arguments, reference, shorter, normalize):
                text = shorter
                break
        else:
            size //= 2
    return text


def main():
    parser = argparse.ArgumentParser(description="Compares token ids with PyPI's tokenizers on random text.")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/check/maglio")
    parser.add_argument("--vocab", type=pathlib.Path, default=ROOT / "models/vocab/qwen3.gguf")
    parser.add_argument("--tokenizer-json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        skip(f"{arguments.binary} is not built")
    if not arguments.vocab.exists():
        skip(f"{arguments.vocab} is missing; tools/fetch_test_data.py gets it")
    tokenizers = import_tokenizers()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"fuzz_tokenizer: seed {seed}, tokenizers {tokenizers.__version__}", flush=True)
    rng = random.Random(seed)
    reference = reference_tokenizer(tokenizers, arguments)
    end, n_texts, n_ids = time.monotonic() + arguments.seconds, 0, 0
    while n_texts == 0 or time.monotonic() < end:
        all_texts = [random_text(rng) for _ in range(2000)]
        for normalize in ("none", "nfc"):
            texts = all_texts if normalize == "none" else [t for t in all_texts if OLD.issuperset(t)]
            reference.normalizer = (tokenizers.normalizers.NFC() if normalize == "nfc"
                                    else tokenizers.normalizers.Sequence([]))
            expected = [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]
            for text, ids, want in zip(texts, maglio_ids(arguments, texts, normalize), expected):
                if ids != want:
                    text = shrink(arguments, reference, text, normalize)
                    print(f"fuzz_tokenizer: DIFFERENCE, seed {seed}, normalize {normalize}: {text!a}\n"
                          f"  maglio     {maglio_ids(arguments, [text], normalize)[0]}\n"
                          f"  tokenizers {reference.encode(text, add_special_tokens=False).ids}")
                    sys.exit(1)
            n_ids += sum(map(len, expected))
        n_texts += len(all_texts)
    print(f"fuzz_tokenizer: {n_texts} texts, {n_ids} ids, all equal")


if __name__ == "__main__":
    main()
