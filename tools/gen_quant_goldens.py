#!/usr/bin/env python3
"""Writes tests/data/quant_goldens.txt: random blocks of every weight format with what the gguf package makes of them.

    pip install numpy gguf==0.19.0
    tools/gen_quant_goldens.py > tests/data/quant_goldens.txt

One line each: "decode FORMAT ROW VALUES" and "encode FORMAT VALUES ROW", bytes in hexadecimal, values as little-endian
f32. Only the formats whose quantizer the gguf package has (bit for bit ggml's) get an encode line.
"""
import importlib.metadata
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

VALUES = 256
FORMATS = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
ENCODED = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
# Where the f16 scales of a block lie; every other byte may be anything.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def random_row(rng, name):
    """Bytes of a row: every integer field random, every f16 finite, some scales zero, negative or subnormal."""
    n_block, n_bytes = quants.GGML_QUANT_SIZES[T[name]]
    n = VALUES // n_block
    if n_block == 1:
        if name == "BF16":
            return (rng.standard_normal(n).astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        return rng.standard_normal(n).astype("<f2").tobytes()
    blocks = rng.integers(0, 256, (n, n_bytes), dtype=np.uint8)
    for at in SCALES[name]:
        d = (rng.standard_normal(n) * 10.0 ** rng.integers(-7, 1, n)).astype("<f2")
        if n > 1:
            d[0] = 0
        blocks[:, at:at + 2] = d.view(np.uint8).reshape(n, 2)
    return blocks.tobytes()


def random_values(rng):
    """Blocks of different sizes; one of zeros, one constant, one of a single spike, one with exact ties."""
    x = (rng.standard_normal(VALUES) * np.repeat(10.0 ** rng.integers(-3, 3, VALUES // 32), 32)).astype("<f4")
    x[:32] = 0
    x[32:64] = -1.5
    x[64:96] = 0
    x[70] = 3
    x[96:128] = np.arange(-16, 16) / 2
    return x


def main():
    rng = np.random.default_rng(20261129)
    print(f"# tools/gen_quant_goldens.py, gguf {importlib.metadata.version('gguf')}, numpy {np.__version__}")
    for name in FORMATS:
        row = random_row(rng, name)
        raw = np.frombuffer(row, "<f2" if name == "F16" else np.uint8)
        values = quants.dequantize(raw, T[name]).astype("<f4")
        print("decode", name, row.hex(), values.tobytes().hex())
    for name in ENCODED:
        x = random_values(rng)
        print("encode", name, x.tobytes().hex(), quants.quantize(x, T[name]).tobytes().hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
