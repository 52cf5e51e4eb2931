#!/usr/bin/env python3
"""What does rounding the activations cost? The error of the logits for each way of rounding, all else in float64.

For each model: the float64 reference with the inputs of every quantized matrix rounded in one way, against the same
without rounding; the root mean square of the difference in the last logits, in standard deviations, as a geometric
mean over seeded prompts. "int8/256" (for the K formats) and "int8/32" (for the others) are what llama.cpp rounds to.

    pip install numpy gguf
    tools/activation_error.py MODEL.gguf [MODEL.gguf ...] [--prompts 12]
"""
import argparse

import numpy as np

from reference import Reference, relative_rms


def rounded(x, block, limit):
    """x to integers in [-limit, limit], one scale for each `block` values of a row."""
    y = x.reshape(-1, block)
    d = np.abs(y).max(axis=1, keepdims=True) / limit
    return (np.rint(y / np.where(d > 0, d, 1)) * d).reshape(x.shape)


def rounded_twice(x, block, sub, levels):
    """int8 whose scale is one number for each `block` values times an integer in [1, levels] for each `sub` of them."""
    y = x.reshape(-1, block // sub, sub)
    amax = np.abs(y).max(axis=(1, 2), keepdims=True)
    amax = np.where(amax > 0, amax, 1)
    m = np.clip(np.ceil(np.abs(y).max(axis=2, keepdims=True) * levels / amax), 1, levels)
    d = m * amax / (127 * levels)
    return (np.clip(np.rint(y / d), -127, 127) * d).reshape(x.shape)


SCHEMES = {
    "int8/256": lambda x: rounded(x, 256, 127),
    "int8/32": lambda x: rounded(x, 32, 127),
    "a8k: int8/256, m/32": lambda x: rounded_twice(x, 256, 32, 15),
    "int8/256, m/16": lambda x: rounded_twice(x, 256, 16, 15),
    "a8: int8/32, m/16": lambda x: rounded_twice(x, 32, 16, 127),
    "int8/32, m/8": lambda x: rounded_twice(x, 32, 8, 127),
    "int12/256": lambda x: rounded(x, 256, 2047),
    "a16: int16/32": lambda x: rounded(x, 32, 32767),
}


class Rounding(Reference):
    """The reference with the inputs of its quantized matrices rounded."""

    scheme = staticmethod(lambda x: x)

    def project(self, x, name):
        return super().project(self.input_of(x, name + ".weight"), name)

    def rms_norm(self, x, name):
        y = super().rms_norm(x, name)
        head = "output.weight" if "output.weight" in self.tensors else "token_embd.weight"
        return self.input_of(y, head) if name == "output_norm.weight" else y

    def input_of(self, x, matrix):
        plain = self.tensors[matrix].tensor_type.name in ("F32", "F16", "BF16")
        return x if plain else self.scheme(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--prompts", type=int, default=12)
    args = parser.parse_args()
    print("| model |", " | ".join(SCHEMES), "|")
    print("|---|" + "---|" * len(SCHEMES))
    for path in args.models:
        model = Rounding(path)
        n_ids = model.tensors["token_embd.weight"].data.shape[0]
        rng = np.random.default_rng(1)
        prompts = [rng.integers(256, int(0.98 * n_ids), rng.integers(5, 80)).tolist() for _ in range(args.prompts)]
        exact = model.last_logits(prompts)
        cells = []
        for scheme in SCHEMES.values():
            model.scheme = scheme
            cells.append(f"{np.exp(np.log(relative_rms(model.last_logits(prompts), exact)).mean()):.2e}")
        print("|", path.split("/")[-1], "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
