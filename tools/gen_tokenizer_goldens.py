#!/usr/bin/env python3
"""Writes tests/data/tokenizer/: a corpus, and the ids that llama.cpp gives it (tests/text/golden_test.cpp compares).

    tools/gen_tokenizer_goldens.py corpus                    # writes corpus.txt (fixed seed: always the same bytes)
    tools/gen_tokenizer_goldens.py ids --libllama FILE       # writes NAME.golden for every vocabulary

FILE is libllama.so of the llama.cpp in the source package llama-cpp-python 0.3.36 (PyPI), built as that package says
(cmake -DBUILD_SHARED_LIBS=ON, target llama). The vocabularies are those of tools/fetch_test_data.py and the default
model (tools/fetch_model.sh).

A golden file has one line for each thing compared; ids are decimal, texts hexadecimal ("-": empty), and a hash is
FNV-1a (64 bits) over the ids as little-endian 32-bit integers:

    case MODE TEXT IDS...          MODE: parse (special tokens parsed), plain (not), frame (parsed, and BOS/EOS by policy)
    corpus MODE N HASH             the whole corpus: N ids
    block BEGIN SIZE N HASH        bytes BEGIN.. of the corpus as a text of its own, parsed
    scalars FIRST N HASH           the text of scalar_text(FIRST): frames 4096 code points

SmolLM2's vocabulary lacks 21 bytes, which llama.cpp drops without a word and maglio refuses. Its scalar texts leave the
characters out that need one of them.
"""
import argparse
import ctypes
import pathlib
import random
import sys

from tokenizer_samples import CASES, LINES, SPECIALS, SPACES

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data/tokenizer"
VOCABULARIES = {
    "qwen3": ROOT / "models/vocab/qwen3.gguf",
    "llama-bpe": ROOT / "models/vocab/llama-bpe.gguf",
    "gpt-2": ROOT / "models/vocab/gpt-2.gguf",
    "default": ROOT / "models/vocab/default.gguf",
    "smollm2": ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf",
}
SEED = 20261129
CORPUS_BYTES = 130_000
BLOCK_BYTES = 2_000
SCALARS_PER_TEXT = 4096
SMOLLM2_LACKS = frozenset(b"\x04\x06\x13\x14\x16\x1d\xc0\xc1\xf1\xf2\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff")


def scalar_text(first, lacks=frozenset()):
    """Every scalar value of a block after a letter, after a space, before a space and before a digit."""
    scalars = (chr(c) for c in range(first, first + SCALARS_PER_TEXT) if not 0xD800 <= c < 0xE000)
    return "".join(f"a{c} {c}1\n" for c in scalars if lacks.isdisjoint(c.encode("utf-8")))


# --- The corpus ---------------------------------------------------------------------------------------------------


def random_run(rng):
    return rng.choice(" \n\t_=-.*#0aA中!\u00a0🙂'") * rng.choice([2, 3, 7, 8, 15, 16, 17, 40, 80])


def random_code_points(rng):
    """Characters from all over Unicode, unassigned ones too; not from planes 4 to 11, whose first bytes SmolLM2 lacks."""
    ranges = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x1000), (0x1000, 0x2000),
              (0x2000, 0x2C00), (0x2C00, 0x3400), (0x3400, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000),
              (0x1F300, 0x1FB00), (0x20000, 0x40000), (0xC0000, 0x110000)]
    out = []
    for _ in range(rng.randint(3, 20)):
        low, high = rng.choice(ranges)
        out.append(chr(rng.randrange(low, high)))
    return "".join(out)


def random_numbers(rng):
    return rng.choice(["", "-", "$", "€", "#", "v"]).join(
        str(rng.randrange(10 ** rng.randint(1, 12))) + rng.choice(["", ".5", "e-3", "%", "px", "th", "½", "٣٤"])
        for _ in range(rng.randint(1, 4)))


def random_words(rng):
    words = rng.choice(LINES).split(" ")
    rng.shuffle(words)
    glue = rng.choice([" ", " ", "  ", "\t", ", ", "-", "_", rng.choice(SPACES)])
    word_case = rng.choice([str, str, str, str.upper, str.title])
    return glue.join(word_case(w) for w in words)


def random_contractions(rng):
    parts = ["I'm", "don't", "'S", "we'LL", "they've", "it’s", "x'd", "''re", "'Reach", "o'clock", "'tis", " 's", "'"]
    return rng.choice(["", " ", "\n"]).join(rng.choices(parts, k=rng.randint(1, 6)))


def random_specials(rng):
    pieces = SPECIALS + [s[:-1] for s in SPECIALS] + ["<|", "|>", "<", " ", "\n", "user", "a", "é", "</"]
    return "".join(rng.choices(pieces, k=rng.randint(2, 6)))


def make_corpus():
    rng = random.Random(SEED)
    makers = [random_words, random_words, random_words, lambda r: r.choice(LINES), lambda r: r.choice(LINES),
              random_code_points, random_numbers, random_contractions, random_specials, random_run]
    out, size = [], 0
    while size < CORPUS_BYTES:
        piece = "".join(rng.choice(makers)(rng) for _ in range(rng.choice([1, 1, 2])))
        piece += rng.choice(["\n", "\n", "\n", "\n\n", " ", "", "\r\n", "  \n", " \u3000"])
        out.append(piece)
        size += len(piece.encode("utf-8"))
    return "".join(out)


def blocks(corpus):
    """(begin, size) of texts of about BLOCK_BYTES that end between characters."""
    begin = 0
    while begin < len(corpus):
        end = min(begin + BLOCK_BYTES, len(corpus))
        while end < len(corpus) and corpus[end] & 0xC0 == 0x80:
            end += 1
        yield begin, end - begin
        begin = end


# --- llama.cpp ----------------------------------------------------------------------------------------------------


class ModelParams(ctypes.Structure):
    """llama_model_params of include/llama.h in that package."""
    _fields_ = [("devices", ctypes.c_void_p), ("overrides", ctypes.c_void_p), ("n_gpu_layers", ctypes.c_int32),
                ("split_mode", ctypes.c_int), ("load_mode", ctypes.c_int), ("lazy_mode", ctypes.c_int),
                ("main_gpu", ctypes.c_int32), ("tensor_split", ctypes.c_void_p), ("progress", ctypes.c_void_p),
                ("progress_data", ctypes.c_void_p), ("kv_overrides", ctypes.c_void_p), ("vocab_only", ctypes.c_bool),
                ("check_tensors", ctypes.c_bool), ("use_extra_bufts", ctypes.c_bool), ("no_host", ctypes.c_bool),
                ("no_alloc", ctypes.c_bool), ("load_mtp", ctypes.c_bool)]


class LlamaTokenizer:
    QUIET = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)

    def __init__(self, library, path):
        self.llama = ctypes.CDLL(str(library))
        self.llama.llama_log_set(self.QUIET, None)
        self.llama.llama_model_default_params.restype = ModelParams
        self.llama.llama_model_load_from_file.restype = ctypes.c_void_p
        self.llama.llama_model_load_from_file.argtypes = [ctypes.c_char_p, ModelParams]
        self.llama.llama_model_get_vocab.restype = ctypes.c_void_p
        self.llama.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
        self.llama.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32,
                                              ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_bool,
                                              ctypes.c_bool]
        params = self.llama.llama_model_default_params()
        params.vocab_only = True
        model = self.llama.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            sys.exit(f"gen_tokenizer_goldens: llama.cpp cannot load {path}")
        self.vocab = self.llama.llama_model_get_vocab(model)

    def encode(self, text, mode):
        buffer = (ctypes.c_int32 * (len(text) + 8))()
        n = self.llama.llama_tokenize(self.vocab, text, len(text), buffer, len(buffer), mode == "frame",
                                      mode != "plain")
        assert n >= 0
        return list(buffer[:n])


def fnv1a(ids):
    value = 0xCBF29CE484222325
    for token in ids:
        for byte in token.to_bytes(4, "little"):
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def summary(ids):
    return f"{len(ids)} {fnv1a(ids):016x}"


def write_ids(name, tokenizer, corpus):
    lines = ["# Ids of llama.cpp, by tools/gen_tokenizer_goldens.py; the format is described there.\n"]
    for text in CASES:
        for mode in ("parse", "plain", "frame"):
            raw = text.encode("utf-8")
            ids = tokenizer.encode(raw, mode)
            if mode == "frame" and ids == tokenizer.encode(raw, "parse"):
                continue
            if mode == "plain" and ids == tokenizer.encode(raw, "parse"):
                continue
            lines.append(f"case {mode} {raw.hex() or '-'} {' '.join(map(str, ids))}".rstrip() + "\n")
    for mode in ("parse", "plain", "frame"):
        lines.append(f"corpus {mode} {summary(tokenizer.encode(corpus, mode))}\n")
    for begin, size in blocks(corpus):
        lines.append(f"block {begin} {size} {summary(tokenizer.encode(corpus[begin:begin + size], 'parse'))}\n")
    for first in range(0, 0x110000, SCALARS_PER_TEXT):
        text = scalar_text(first, SMOLLM2_LACKS if name == "smollm2" else frozenset()).encode("utf-8")
        if text:
            lines.append(f"scalars {first} {summary(tokenizer.encode(text, 'parse'))}\n")
    (DATA / f"{name}.golden").write_text("".join(lines), encoding="ascii")
    print(f"{name}: {len(lines)} lines")


def main():
    parser = argparse.ArgumentParser(description="Writes the tokenizer's corpus and goldens.")
    parser.add_argument("what", choices=["corpus", "ids"])
    parser.add_argument("--libllama", type=pathlib.Path)
    parser.add_argument("--only", choices=list(VOCABULARIES))
    arguments = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if arguments.what == "corpus":
        (DATA / "corpus.txt").write_bytes(make_corpus().encode("utf-8"))
        return
    corpus = (DATA / "corpus.txt").read_bytes()
    for name, path in VOCABULARIES.items():
        if arguments.only in (None, name):
            write_ids(name, LlamaTokenizer(arguments.libllama.resolve(), path), corpus)


if __name__ == "__main__":
    main()
