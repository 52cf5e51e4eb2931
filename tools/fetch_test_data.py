#!/usr/bin/env python3
"""Fetches what tests compare with: the vocabularies models/vocab/*.gguf and the chat templates models/templates/*.jinja
(once: 77 MB read, 18 MB kept).

They lie in the source package of PyPI's llama-cpp-python 0.3.36, in llama.cpp's folders of vocabulary-only files and
of the templates that well-known models carry (70 of them, each under its model's licence). The vocabularies:

    llama-bpe.gguf   Llama 3's, as it is there
    gpt-2.gguf       GPT-2's, as it is there
    default.gguf     the same with the pre-tokenizer "default"
    qwen3.gguf       Qwen2's (the same 151,643 tokens and 151,387 merges) with Qwen3's added tokens and their types

    tools/fetch_test_data.py [--sdist FILE]     FILE: a package that was downloaded before
"""
import argparse
import hashlib
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import venv

PACKAGE = "llama-cpp-python==0.3.36"
TARGET = pathlib.Path(__file__).resolve().parent.parent / "models/vocab"
SOURCES = {  # name in the package, its SHA-256
    "llama-bpe": "97272e430d53bc7688f52d5e0ad8ea8f163ede9f1bbd1694feaa504797d5d96e",
    "gpt-2": "cedc56ca6e2e89f63e781696d1fd76b4b1d49e6720dee86463e915f6e90016ac",
    "qwen2": "44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c",
}
TEMPLATES = TARGET.parent / "templates"
TEMPLATES_FOLDER = "vendor/llama.cpp/models/templates"
TEMPLATES_SHA256 = "5a64e2e1762c82ee6030ed91cd9afca2f7c2eefd6c849b7e715b0ce7333bd43e"  # of name, zero, text, zero for each, by name
MADE = ("llama-bpe.gguf", "gpt-2.gguf", "default.gguf", "qwen3.gguf")

# Qwen3's added tokens from 151643 on (added_tokens of its tokenizer.json); the last twelve are not "special" there.
CONTROL, USER_DEFINED, UNUSED = 3, 4, 5
QWEN3_ADDED = """<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|>
<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> <tool_call>
</tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> <tool_response>
</tool_response> <think> </think>""".split()
QWEN3_N_CONTROL = 14
QWEN3_FIRST_ADDED = 151643
QWEN3_EOS = 151645

# GGUF metadata: sizes of the scalar value types, and the two types that have a length.
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
U32, I32, BOOL, STRING, ARRAY = 4, 5, 7, 8, 9


def gguf_string(text):
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def string_array(texts):
    return struct.pack("<IQ", STRING, len(texts)) + b"".join(map(gguf_string, texts))


def value_end(data, at, kind):
    """Where the value of this type that starts at byte `at` ends."""
    if kind == STRING:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != ARRAY:
        return at + SIZES[kind]
    element, n = struct.unpack_from("<IQ", data, at)
    at += 12
    if element not in (STRING, ARRAY):
        return at + n * SIZES[element]
    for _ in range(n):
        at = value_end(data, at, element)
    return at


def read_metadata(data):
    """{key: (type, bytes of the value)} of a GGUF v2 or v3 file."""
    magic, version, _, n = struct.unpack_from("<4sIQQ", data)
    assert magic == b"GGUF" and version in (2, 3)
    at, pairs = 24, {}
    for _ in range(n):
        end = value_end(data, at, STRING)
        key = data[at + 8:end].decode()
        kind = struct.unpack_from("<I", data, end)[0]
        at = value_end(data, end + 4, kind)
        pairs[key] = (kind, data[end + 4:at])
    return pairs


def write_metadata(path, pairs):
    out = [struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs))]
    for key, (kind, value) in pairs.items():
        out.append(gguf_string(key) + struct.pack("<I", kind) + value)
    path.write_bytes(b"".join(out))


def read_strings(value):
    n, at, texts = struct.unpack_from("<Q", value, 4)[0], 12, []
    for _ in range(n):
        end = value_end(value, at, STRING)
        texts.append(value[at + 8:end].decode("utf-8"))
        at = end
    return texts


def make_qwen3(qwen2):
    pairs = dict(qwen2)
    tokens = read_strings(pairs["tokenizer.ggml.tokens"][1])
    n_added = len(QWEN3_ADDED)
    last = QWEN3_FIRST_ADDED + n_added
    tokens[QWEN3_FIRST_ADDED:last] = QWEN3_ADDED
    tokens[last:] = [f"[PAD{i}]" for i in range(last, len(tokens))]
    types = [1] * QWEN3_FIRST_ADDED + [CONTROL] * QWEN3_N_CONTROL + [USER_DEFINED] * (n_added - QWEN3_N_CONTROL)
    types += [UNUSED] * (len(tokens) - last)
    pairs["general.architecture"] = (STRING, gguf_string("qwen3"))
    pairs["tokenizer.ggml.tokens"] = (ARRAY, string_array(tokens))
    pairs["tokenizer.ggml.token_type"] = (ARRAY, struct.pack(f"<IQ{len(types)}i", I32, len(types), *types))
    pairs["tokenizer.ggml.eos_token_id"] = (U32, struct.pack("<I", QWEN3_EOS))
    pairs["tokenizer.ggml.add_bos_token"] = (BOOL, b"\0")
    return {key: value for key, value in pairs.items() if not key.startswith("qwen2.")}


def download(folder):
    print(f"fetch_test_data: fetching the source package {PACKAGE} (77 MB, once)", file=sys.stderr)
    venv.create(folder / "venv", with_pip=True)
    subprocess.run([folder / "venv/bin/pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps",
                    "--no-binary", "llama-cpp-python", "--dest", folder, PACKAGE], check=True)
    return next(folder.glob("llama_cpp_python-*.tar.gz"))


def extract(sdist):
    """{name: bytes} of the vocabulary files, and of the templates."""
    found, templates = {}, {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = pathlib.PurePosixPath(member.name).name
            key = name.removeprefix("ggml-vocab-").removesuffix(".gguf")
            if name.endswith(".gguf") and key in SOURCES:
                found[key] = archive.extractfile(member).read()
            if name.endswith(".jinja") and str(pathlib.PurePosixPath(member.name).parent).endswith(TEMPLATES_FOLDER):
                templates[name] = archive.extractfile(member).read()
    for key, digest in SOURCES.items():
        if hashlib.sha256(found.get(key, b"")).hexdigest() != digest:
            sys.exit(f"fetch_test_data: ggml-vocab-{key}.gguf is missing or has another digest than expected")
    digest = hashlib.sha256()
    for name in sorted(templates):
        digest.update(name.encode() + b"\0" + templates[name] + b"\0")
    if digest.hexdigest() != TEMPLATES_SHA256:
        sys.exit(f"fetch_test_data: the {len(templates)} templates have another digest than expected")
    return found, templates


def main():
    parser = argparse.ArgumentParser(description="Fetches vocabularies and chat templates for the tests.")
    parser.add_argument("--sdist", type=pathlib.Path, help="the downloaded source package")
    arguments = parser.parse_args()
    if all((TARGET / name).exists() for name in MADE) and TEMPLATES.exists():
        return
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as work:
        work = pathlib.Path(work)
        files, templates = extract(arguments.sdist or download(work))
        (work / "llama-bpe.gguf").write_bytes(files["llama-bpe"])
        (work / "gpt-2.gguf").write_bytes(files["gpt-2"])
        gpt2 = read_metadata(files["gpt-2"])
        write_metadata(work / "default.gguf", gpt2 | {"tokenizer.ggml.pre": (STRING, gguf_string("default"))})
        write_metadata(work / "qwen3.gguf", make_qwen3(read_metadata(files["qwen2"])))
        for name in MADE:
            (work / name).rename(TARGET / name)
        fresh = work / "templates"
        fresh.mkdir()
        for name, source in templates.items():
            (fresh / name).write_bytes(source)
        if not TEMPLATES.exists():
            fresh.rename(TEMPLATES)


if __name__ == "__main__":
    main()
