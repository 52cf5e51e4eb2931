#!/usr/bin/env python3
"""Logits of llama.cpp, through the C interface that PyPI `llama-cpp-python` binds. An oracle, never a part of maglio.

Settings are llama.cpp's own defaults (f16 cache, automatic flash attention, weights repacked where it likes to),
but for the count of threads, so that what is compared is what its users get.

    pip install llama-cpp-python                    # or: --package DIR (its unpacked source) --library DIR (libllama)
    tools/llama_logits.py MODEL.gguf --ids 9707,11,1879 --out theirs.f32
    tools/llama_logits.py MODEL.gguf --tokenize FILE
"""
import argparse
import ctypes
import importlib
import os
import sys

import numpy as np


def load_binding(package=None, library=None):
    """The module `llama_cpp.llama_cpp`: structs and functions as that version of llama.cpp declares them."""
    if package:
        sys.path.insert(0, package)
    if library:
        os.environ["LLAMA_CPP_LIB_PATH"] = library
    try:
        return importlib.import_module("llama_cpp").llama_cpp
    except ImportError as error:
        raise SystemExit(f"llama_logits.py: {error}; pip install llama-cpp-python, or name --package and --library")


class LlamaCpp:
    """One model, opened by llama.cpp with its default settings."""

    def __init__(self, path, threads, n_ctx=512, package=None, library=None):
        self.api = api = load_binding(package, library)
        self.quiet = api.llama_log_callback(lambda level, text, user: None)
        api.llama_log_set(self.quiet, None)
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama_logits.py: llama.cpp cannot load {path}")
        params = api.llama_context_default_params()
        params.n_ctx, params.n_threads, params.n_threads_batch = n_ctx, threads, threads
        self.context = api.llama_init_from_model(self.model, params)
        self.vocab = api.llama_model_get_vocab(self.model)
        self.n_vocab = api.llama_vocab_n_tokens(self.vocab)

    def last_logits(self, ids):
        """The logits after the last of ids, from an empty cache: [n_vocab] float32."""
        api = self.api
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        tokens = (api.llama_token * len(ids))(*ids)
        if api.llama_decode(self.context, api.llama_batch_get_one(tokens, len(ids))) != 0:
            raise SystemExit(f"llama_logits.py: llama_decode refuses a prompt of {len(ids)} tokens")
        logits = api.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, shape=(self.n_vocab,)).copy()

    def tokenize(self, text, add_special=True, parse_special=True):
        raw = text.encode()
        out = (self.api.llama_token * (len(raw) + 8))()
        n = self.api.llama_tokenize(self.vocab, raw, len(raw), out, len(out), add_special, parse_special)
        return list(out[:n])

    def close(self):
        self.api.llama_free(self.context)
        self.api.llama_model_free(self.model)


def add_arguments(parser):
    parser.add_argument("--package", default=os.environ.get("LLAMA_CPP_PACKAGE"),
                        help="folder that holds the package llama_cpp, if it is not installed")
    parser.add_argument("--library", default=os.environ.get("LLAMA_CPP_LIB_PATH"), help="folder that holds libllama.so")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--ids", help="token ids of the prompt, with commas")
    parser.add_argument("--tokenize", metavar="FILE", help="print the ids of a text file")
    parser.add_argument("--out", help="write the logits of the last token, raw little-endian float32")
    parser.add_argument("--threads", type=int, default=2)
    add_arguments(parser)
    args = parser.parse_args()
    llama = LlamaCpp(args.model, args.threads, package=args.package, library=args.library)
    if args.tokenize:
        print(*llama.tokenize(open(args.tokenize, encoding="utf-8").read()), sep="\n")
    if args.ids:
        logits = llama.last_logits([int(i) for i in args.ids.replace(",", " ").split()])
        for token in np.argsort(-logits)[:5]:
            print(f"{token} {logits[token]:.6f}")
        if args.out:
            logits.astype("<f4").tofile(args.out)
    llama.close()


if __name__ == "__main__":
    main()
