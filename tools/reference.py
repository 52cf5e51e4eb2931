#!/usr/bin/env python3
"""The yardstick of every error that this project states: the forward pass in float64.

Weights are dequantized exactly as the file stores them (PyPI `gguf`, an implementation that shares nothing with
ours); all arithmetic after that is float64, so what it prints has no rounding of its own worth naming. Many prompts
run together, their rows stacked for the matrix products and apart in attention, so that 64 prompts of a small real
model take seconds. A mixture's experts are widened one at a time. Architectures: qwen3, qwen3moe, qwen2, qwen2moe, llama.

    pip install numpy gguf
    tools/reference.py MODEL.gguf --ids 9707,11,1879                       # the five best next tokens
    tools/reference.py MODEL.gguf --ids 9707,11,1879 --out ref.f64         # logits of the last token, raw float64
    tools/reference.py MODEL.gguf --ids 9707,11,1879 --compare ours.f32    # error of a `--logits-out` file
"""
import argparse

import gguf
import numpy as np

HEAD_ROWS = 16384  # rows of the output matrix that are widened to float64 at a time


class Config:
    """The numbers of the architecture, from the file's metadata."""

    def __init__(self, fields):
        def get(key, default=None):
            return fields[key].contents() if key in fields else default

        self.arch = get("general.architecture")
        if self.arch not in ("qwen3", "qwen3moe", "qwen2", "qwen2moe", "llama"):
            raise SystemExit(f"reference.py: architecture '{self.arch}' is not known here")
        prefix = self.arch + "."
        self.n_layers = get(prefix + "block_count")
        self.d_model = get(prefix + "embedding_length")
        self.n_heads = get(prefix + "attention.head_count")
        self.n_kv_heads = get(prefix + "attention.head_count_kv", self.n_heads)
        self.head_dim = get(prefix + "attention.key_length", self.d_model // self.n_heads)
        self.eps = get(prefix + "attention.layer_norm_rms_epsilon")
        self.rope_base = get(prefix + "rope.freq_base", 10000.0)
        self.interleaved = self.arch == "llama"  # which channels RoPE takes as a pair
        self.n_experts_used = get(prefix + "expert_used_count", 0)
        self.normalize_selected = get(prefix + "expert_weights_norm", self.arch == "qwen3moe")


class Reference:
    """A model, and its float64 forward pass over a list of prompts."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in reader.tensors}
        self.config = Config(reader.fields)
        self.routings = []  # (experts, weights) of each mixture in the last pass, both [rows, n_experts_used]

    def matrix(self, name, rows=slice(None)):
        """Rows of a weight as stored, widened: [rows, in]; of a stack of experts, a number takes one of them."""
        tensor = self.tensors[name]
        wide = gguf.dequantize(tensor.data[rows], tensor.tensor_type)
        return wide.reshape(-1, int(tensor.shape[0])).astype(np.float64)

    def vector(self, name):
        return self.matrix(name)[0] if name in self.tensors else None

    def project(self, x, name, rows=slice(None)):
        """x: [rows, in] -> [rows, out], with the bias where the file has one."""
        y = x @ self.matrix(name + ".weight", rows).T
        bias = self.vector(name + ".bias")
        return y if bias is None else y + bias

    def rms_norm(self, x, name):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.config.eps) * self.vector(name)

    def rotate(self, x, positions):
        """RoPE on x: [rows, heads, head_dim] at the rows' positions (Su et al. 2021, section 3.2.2)."""
        half = self.config.head_dim // 2
        angle = positions[:, None, None] * self.config.rope_base ** (-np.arange(half) / half)
        turn = np.exp(1j * angle)
        if self.config.interleaved:
            pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
            return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
        pairs = (x[..., :half] + 1j * x[..., half:]) * turn
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    def attend(self, q, k, v, window):
        """One prompt. q: [n, heads, dim]; k, v: [n, kv_heads, dim] -> [n, heads * dim]."""
        n, n_heads, dim = q.shape
        row, column = np.arange(n)[:, None], np.arange(n)[None, :]
        hidden = column > row
        if window:
            hidden |= column <= row - window  # a query sees itself and window - 1 before it
        out = np.empty_like(q)
        group = n_heads // k.shape[1]
        for head in range(n_heads):
            scores = q[:, head] @ k[:, head // group].T / np.sqrt(dim)
            scores[hidden] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[:, head] = weights / weights.sum(axis=1, keepdims=True) @ v[:, head // group]
        return out.reshape(n, -1)

    def attention(self, x, layer, spans, positions, window):
        c = self.config
        q = self.project(x, layer + "attn_q").reshape(-1, c.n_heads, c.head_dim)
        k = self.project(x, layer + "attn_k").reshape(-1, c.n_kv_heads, c.head_dim)
        v = self.project(x, layer + "attn_v").reshape(-1, c.n_kv_heads, c.head_dim)
        if layer + "attn_q_norm.weight" in self.tensors:
            q = self.rms_norm(q, layer + "attn_q_norm.weight")
            k = self.rms_norm(k, layer + "attn_k_norm.weight")
        q, k = self.rotate(q, positions), self.rotate(k, positions)
        mixed = [self.attend(q[s], k[s], v[s], window) for s in spans]
        return self.project(np.concatenate(mixed), layer + "attn_output")

    def feed_forward(self, x, layer):
        if layer + "ffn_gate_inp.weight" not in self.tensors:
            return self.gated_network(x, layer, "")
        y = self.mixture(x, layer)
        if layer + "ffn_gate_inp_shexp.weight" in self.tensors:
            share = 1 / (1 + np.exp(-(x @ self.vector(layer + "ffn_gate_inp_shexp.weight"))))
            y += share[:, None] * self.gated_network(x, layer, "_shexp")
        return y

    def gated_network(self, x, layer, suffix, expert=slice(None)):
        gate = self.project(x, f"{layer}ffn_gate{suffix}", expert)
        gate /= 1 + np.exp(-gate)
        gate *= self.project(x, f"{layer}ffn_up{suffix}", expert)
        return self.project(gate, f"{layer}ffn_down{suffix}", expert)

    def route(self, x, layer):
        """(experts, weights) of each row, both [rows, n_experts_used], the heaviest first; ties go to the lower expert."""
        logits = self.project(x, layer + "ffn_gate_inp")
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        experts = np.argsort(-logits, axis=1, kind="stable")[:, :self.config.n_experts_used]
        weights = np.take_along_axis(p, experts, axis=1)
        if self.config.normalize_selected:
            weights /= weights.sum(axis=1, keepdims=True)
        self.routings.append((experts, weights))
        return experts, weights

    def mixture(self, x, layer):
        experts, weights = self.route(x, layer)
        y = np.zeros_like(x)
        for expert in np.unique(experts):
            rows, choice = np.nonzero(experts == expert)
            y[rows] += weights[rows, choice, None] * self.gated_network(x[rows], layer, "_exps", expert)
        return y

    def last_logits(self, prompts, window=None):
        """prompts: lists of token ids -> [len(prompts), vocab] float64, the logits after each prompt's last token."""
        self.routings = []
        ends = np.cumsum([len(p) for p in prompts])
        spans = [slice(end - len(p), end) for p, end in zip(prompts, ends)]
        positions = np.concatenate([np.arange(len(p), dtype=np.float64) for p in prompts])
        x = self.matrix("token_embd.weight", np.concatenate([np.asarray(p) for p in prompts]))
        for i in range(self.config.n_layers):
            layer = f"blk.{i}."
            x += self.attention(self.rms_norm(x, layer + "attn_norm.weight"), layer, spans, positions, window)
            x += self.feed_forward(self.rms_norm(x, layer + "ffn_norm.weight"), layer)
        x = self.rms_norm(x[ends - 1], "output_norm.weight")
        head = "output.weight" if "output.weight" in self.tensors else "token_embd.weight"
        n_rows = self.tensors[head].data.shape[0]
        parts = [x @ self.matrix(head, slice(i, i + HEAD_ROWS)).T for i in range(0, n_rows, HEAD_ROWS)]
        return np.concatenate(parts, axis=1)


def relative_rms(got, reference):
    """Root mean square of the difference, in standard deviations of the reference: per row."""
    difference = got - reference
    return np.sqrt(np.mean(difference * difference, axis=-1)) / np.std(reference, axis=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="token ids of the prompt, with commas")
    parser.add_argument("--window", type=int, help="sliding attention window in tokens")
    parser.add_argument("--out", help="write the logits of the last token, raw little-endian float64")
    parser.add_argument("--compare", action="append", default=[], help="a raw float32 file of logits")
    args = parser.parse_args()
    ids = [int(i) for i in args.ids.replace(",", " ").split()]
    logits = Reference(args.model).last_logits([ids], args.window)[0]
    for token in np.argsort(-logits)[:5]:
        print(f"{token} {logits[token]:.6f}")
    if args.out:
        logits.astype("<f8").tofile(args.out)
    for path in args.compare:
        got = np.fromfile(path, "<f4").astype(np.float64)
        print(f"{path}: relative rms {relative_rms(got, logits):.3e}, same best {got.argmax() == logits.argmax()}")


if __name__ == "__main__":
    main()
