#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: the class of every code point that the pre-tokenizers ask about.

    python3 -m venv build/unicode && build/unicode/bin/pip install unicodedata2==15.1.0
    build/unicode/bin/python tools/gen_unicode_tables.py            # writes the file
    build/unicode/bin/python tools/gen_unicode_tables.py --check    # compares, exits 1 on a difference

Unicode 15.1.0 because llama.cpp, whose ids maglio matches, splits by that version (its unicode-data.cpp equals it at
all 1,114,112 code points: compared on 2026-11-29 with the copy in llama-cpp-python 0.3.36). Another version would move
chunk borders in scripts that were added since.

Two stages: kClassBlocks[code point / 128] names a row of kClasses, which holds the classes of 128 code points.
"""
import pathlib
import sys

import unicodedata2 as unicodedata

VERSION = "15.1.0"
BLOCK = 128
LETTER, NUMBER, SPACE, PUNCTUATION, MARK = 1, 2, 4, 8, 16
BY_CATEGORY = {"L": LETTER, "N": NUMBER, "P": PUNCTUATION, "M": MARK}
# The White_Space property (PropList.txt), which is not a general category.
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
               0x3000}
TARGET = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode_tables.inc"


def class_of(code_point):
    bits = BY_CATEGORY.get(unicodedata.category(chr(code_point))[0], 0)
    return bits | (SPACE if code_point in WHITE_SPACE else 0)


def rows(numbers, width):
    for i in range(0, len(numbers), width):
        yield "    " + ", ".join(map(str, numbers[i:i + width])) + ",\n"


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"gen_unicode_tables: need Unicode {VERSION}, have {unicodedata.unidata_version}")
    unique, blocks = {}, []
    for start in range(0, 0x110000, BLOCK):
        block = tuple(class_of(c) for c in range(start, start + BLOCK))
        blocks.append(unique.setdefault(block, len(unique)))
    assert len(unique) < 256
    out = [f"// Written by tools/gen_unicode_tables.py from Unicode {VERSION}. Do not edit.\n",
           f"// 1 letter, 2 number, 4 white space, 8 punctuation, 16 mark; rows of {BLOCK} code points.\n",
           f"constexpr uint8_t kClassBlocks[{len(blocks)}] = {{\n", *rows(blocks, 32), "};\n",
           f"constexpr uint8_t kClasses[{len(unique)}][{BLOCK}] = {{\n"]
    for block in unique:
        out += ["  {\n", *rows(block, 32), "  },\n"]
    out.append("};\n")
    text = "".join(out)
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == text else "gen_unicode_tables: the file differs")
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
