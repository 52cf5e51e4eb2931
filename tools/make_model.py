#!/usr/bin/env python3
"""Writes a GGUF of any geometry with seeded random weights: real shapes, real formats, meaningless text.

For measuring speed and accuracy where real weights are not at hand. Each tensor draws from a generator of its own
name, so cutting a model to fewer layers leaves the remaining ones as they were, and is written as it is drawn, so that
a large model takes the memory of its largest tensor. Matrices are scaled to keep the residual stream near unit size;
--outliers makes a few norm channels 50 times larger, as trained models have them.

A mixture's router chooses among random experts evenly. Trained ones do not: --router skewed gives every expert a
popularity, so that a fifth of 128 experts gets about 60 % of the choices, and makes the choice depend on the token more
than on its surroundings.

    pip install numpy gguf
    tools/make_model.py --geometry tiny --out tiny.gguf                              # 256 byte tokens and a few specials
    tools/make_model.py --geometry qwen3-0.6b --tokenizer DIR --dtype F16 --out m.gguf   # DIR holds tokenizer.json
    tools/make_model.py --geometry qwen3moe-30b-a3b --layers 6 --router skewed --dtype Q8_0 --out m.gguf

Formats written here: F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1. For the K formats run llama-quantize on an F16 file.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import zlib

import gguf
import numpy as np

CHUNK_ROWS = 16384  # rows of a matrix that are drawn and quantized at a time
QWEN3_VOCAB = 151936
ROUTER = "ffn_gate_inp.weight"
POPULARITY = 0.7  # spread of the experts' popularity under a skewed router; the part that tokens decide has spread 1


@dataclasses.dataclass(frozen=True)
class Geometry:
    arch: str
    d_model: int
    d_ff: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    tied: bool = True
    rope_base: float = 1e6
    n_experts: int = 0  # of a mixture; d_ff is a dense network's width
    n_experts_used: int = 0
    d_expert: int = 0  # width of one expert
    d_shared: int = 0  # width of the expert that all tokens share (qwen2moe)


GEOMETRIES = {
    "tiny": Geometry("qwen3", 256, 512, 3, 4, 2, 64),
    "qwen3-0.6b": Geometry("qwen3", 1024, 3072, 28, 16, 8, 128),
    "qwen3-1.7b": Geometry("qwen3", 2048, 6144, 28, 16, 8, 128),
    "qwen3-4b": Geometry("qwen3", 2560, 9728, 36, 32, 8, 128),
    "qwen3-8b": Geometry("qwen3", 4096, 12288, 36, 32, 8, 128, tied=False),
    "tiny-llama": Geometry("llama", 256, 512, 3, 9, 3, 64, tied=False, rope_base=1e4),
    "smollm2-135m": Geometry("llama", 576, 1536, 30, 9, 3, 64, rope_base=1e5),
    "tiny-moe": Geometry("qwen3moe", 256, 512, 3, 4, 2, 64, tied=False, n_experts=8, n_experts_used=2, d_expert=256),
    "qwen3moe-30b-a3b": Geometry("qwen3moe", 2048, 6144, 48, 32, 4, 128, tied=False,
                                 n_experts=128, n_experts_used=8, d_expert=768),
    "qwen3moe-235b-a22b": Geometry("qwen3moe", 4096, 12288, 94, 64, 4, 128, tied=False,
                                   n_experts=128, n_experts_used=8, d_expert=1536),
    "tiny-qwen2moe": Geometry("qwen2moe", 256, 512, 3, 4, 2, 64, tied=False,
                              n_experts=8, n_experts_used=2, d_expert=256, d_shared=512),
}


def byte_alphabet():
    """GPT-2's printable stand-in of each byte, in byte order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    shifted = iter(range(256, 512))
    return [chr(b if b in printable else next(shifted)) for b in range(256)]


def small_vocabulary():
    """(tokens, types, merges, eos): all bytes, two merges, three specials."""
    tokens = [*byte_alphabet(), "th", "the", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    types = [gguf.TokenType.NORMAL] * (len(tokens) - 3) + [gguf.TokenType.CONTROL] * 3
    return tokens, types, ["t h", "th e"], tokens.index("<|im_end|>")


def file_vocabulary(folder):
    """The same from a Hugging Face tokenizer.json, padded as the Qwen3 embedding is."""
    spec = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    known = dict(spec["model"]["vocab"])
    added = {t["content"]: t for t in spec["added_tokens"]}
    known.update({text: t["id"] for text, t in added.items()})
    n = max(QWEN3_VOCAB, 1 + max(known.values()))
    tokens, types = [f"[PAD{i}]" for i in range(n)], [gguf.TokenType.UNUSED] * n
    for text, i in known.items():
        tokens[i], types[i] = text, gguf.TokenType.NORMAL
        if text in added:
            types[i] = gguf.TokenType.CONTROL if added[text]["special"] else gguf.TokenType.USER_DEFINED
    merges = [m if isinstance(m, str) else " ".join(m) for m in spec["model"]["merges"]]
    return tokens, types, merges, known["<|im_end|>"]


def write_metadata(writer, g, vocabulary, template):
    tokens, types, merges, eos = vocabulary
    writer.add_name("synthetic")
    writer.add_context_length(40960)
    writer.add_block_count(g.n_layers)
    writer.add_embedding_length(g.d_model)
    writer.add_feed_forward_length(g.d_ff)
    writer.add_head_count(g.n_heads)
    writer.add_head_count_kv(g.n_kv_heads)
    writer.add_key_length(g.head_dim)
    writer.add_value_length(g.head_dim)
    writer.add_rope_dimension_count(g.head_dim)
    writer.add_rope_freq_base(g.rope_base)
    writer.add_layer_norm_rms_eps(1e-6)
    if g.n_experts:
        writer.add_expert_count(g.n_experts)
        writer.add_expert_used_count(g.n_experts_used)
        writer.add_expert_feed_forward_length(g.d_expert)
    if g.d_shared:
        writer.add_expert_shared_feed_forward_length(g.d_shared)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([t.encode() for t in tokens])
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(eos)
    writer.add_add_bos_token(False)
    if template:
        writer.add_chat_template(template)


def tensor_list(g, n_vocab, embedding_spread):
    """(name, shape as [out, in], spread) of every tensor; spread None marks a norm, one axis a bias, three experts."""
    q, kv = g.n_heads * g.head_dim, g.n_kv_heads * g.head_dim
    yield "token_embd.weight", (n_vocab, g.d_model), embedding_spread
    yield "output_norm.weight", (g.d_model,), None
    if not g.tied:
        yield "output.weight", (n_vocab, g.d_model), 0.03
    for i in range(g.n_layers):
        layer = f"blk.{i}."
        yield layer + "attn_norm.weight", (g.d_model,), None
        for name, width in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
            yield f"{layer}{name}.weight", (width, g.d_model), g.d_model**-0.5
            if g.arch == "qwen2moe":
                yield f"{layer}{name}.bias", (width,), 0.1
        yield layer + "attn_output.weight", (g.d_model, q), 0.3 * q**-0.5
        if g.arch in ("qwen3", "qwen3moe"):
            yield layer + "attn_q_norm.weight", (g.head_dim,), None
            yield layer + "attn_k_norm.weight", (g.head_dim,), None
        yield layer + "ffn_norm.weight", (g.d_model,), None
        if not g.n_experts:
            yield from feed_forward_list(layer, "", (), g.d_model, g.d_ff)
            continue
        yield layer + ROUTER, (g.n_experts, g.d_model), g.d_model**-0.5
        yield from feed_forward_list(layer, "_exps", (g.n_experts,), g.d_model, g.d_expert)
        if g.d_shared:
            yield layer + "ffn_gate_inp_shexp.weight", (g.d_model,), g.d_model**-0.5
            yield from feed_forward_list(layer, "_shexp", (), g.d_model, g.d_shared)


def feed_forward_list(layer, suffix, stack, d_model, d_ff):
    yield f"{layer}ffn_gate{suffix}.weight", (*stack, d_ff, d_model), d_model**-0.5
    yield f"{layer}ffn_up{suffix}.weight", (*stack, d_ff, d_model), d_model**-0.5
    yield f"{layer}ffn_down{suffix}.weight", (*stack, d_model, d_ff), 0.3 * d_ff**-0.5


def make_norm(rng, n, n_outliers):
    weight = (1 + 0.1 * rng.standard_normal(n)).astype(np.float32)
    weight[rng.choice(n, n_outliers, replace=False)] *= 50
    return weight


def make_matrix(rng, shape, spread, dtype, first_channel=None):
    """Of spread times a normal distribution, in the file's format; first_channel(n_rows) draws that column."""
    n_rows, parts = math.prod(shape[:-1]), []
    for begin in range(0, n_rows, CHUNK_ROWS):
        rows = min(CHUNK_ROWS, n_rows - begin)
        numbers = rng.standard_normal((rows, shape[-1]), dtype=np.float32) * spread
        if first_channel:
            numbers[:, 0] = first_channel(rows)
        parts.append(gguf.quantize(numbers, dtype))
    return np.concatenate(parts).reshape(*shape[:-1], -1)


def format_of(args, name, shape):
    """Vectors are F32, and routers too, as converters leave them."""
    return gguf.GGMLQuantizationType["F32" if len(shape) == 1 or name.endswith(ROUTER) else args.dtype]


def make_tensor(args, name, shape, spread):
    rng = np.random.default_rng([args.seed, zlib.crc32(name.encode())])
    if spread is None:
        return make_norm(rng, shape[0], args.outliers)
    if len(shape) == 1:
        return rng.standard_normal(shape[0], dtype=np.float32) * np.float32(spread)
    # Popularity needs something that all tokens share: the first channel, which is 1 in every embedding.
    popularity = None
    if args.router == "skewed" and name.endswith(ROUTER):
        popularity = lambda n: rng.standard_normal(n) * POPULARITY
    elif args.router == "skewed" and name == "token_embd.weight":
        popularity = np.ones
    return make_matrix(rng, shape, spread, format_of(args, name, shape), popularity)


def write_tensors(writer, args, tensors):
    """First what the file says of them, then one after the other."""
    for name, shape, _ in tensors:
        dtype = format_of(args, name, shape)
        block, n_bytes = gguf.GGML_QUANT_SIZES[dtype]
        writer.add_tensor_info(name, shape, np.dtype(np.float32), math.prod(shape) // block * n_bytes, raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for name, shape, spread in tensors:
        writer.write_tensor_data(make_tensor(args, name, shape, spread))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--geometry", required=True, choices=GEOMETRIES)
    parser.add_argument("--out", required=True)
    parser.add_argument("--dtype", default="F16", choices=["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
    parser.add_argument("--tokenizer", type=pathlib.Path, help="folder with tokenizer.json; else a vocabulary of bytes")
    parser.add_argument("--layers", type=int, help="cut to this many layers")
    parser.add_argument("--outliers", type=int, default=0, help="channels of each norm that are 50 times larger")
    parser.add_argument("--router", choices=["uniform", "skewed"], help="of a mixture: how evenly experts are chosen; uniform")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    geometry = GEOMETRIES[args.geometry]
    if args.layers:
        geometry = dataclasses.replace(geometry, n_layers=args.layers)
    vocabulary, template = small_vocabulary(), None
    if args.tokenizer:
        vocabulary = file_vocabulary(args.tokenizer)
        config = args.tokenizer / "tokenizer_config.json"
        template = json.loads(config.read_text(encoding="utf-8")).get("chat_template") if config.exists() else None
    if args.router and not geometry.n_experts:
        parser.error(f"--router: {args.geometry} is not a mixture")
    # A skewed router sees mostly the token itself, so its embedding is as large as what the layers add.
    embedding_spread = 1.0 if args.router == "skewed" else 0.03

    writer = gguf.GGUFWriter(args.out, geometry.arch)
    write_metadata(writer, geometry, vocabulary, template)
    write_tensors(writer, args, list(tensor_list(geometry, len(vocabulary[0]), embedding_spread)))
    writer.close()


if __name__ == "__main__":
    main()
