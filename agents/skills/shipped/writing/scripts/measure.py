"""Measure a text: long sentences, long paragraphs, worn-out words.

Usage: python measure.py DRAFT.md

Prints what is worth a look, a line each, after a line with the figures.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

_CODE = re.compile(r"```.*?```", re.DOTALL)
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORN = re.compile(
    r"\b(leverag\w+|robust|seamless\w*|cutting-edge|delv\w+|landscape|synerg\w+|holistic|"
    r"in today's world|it is important to note|game.chang\w+|utili[sz]e\w*)\b",
    re.IGNORECASE,
)
_LONG_SENTENCE = 28  # words
_LONG_PARAGRAPH = 120
_SHOWN = 60


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of running text, without headings, code and tables."""
    plain = _CODE.sub("", text)
    blocks = (" ".join(block.split()) for block in _PARAGRAPH_END.split(plain))
    return [block for block in blocks if block and block[0] not in "#|>"]


def report(text: str) -> list[str]:
    """Return the figures of a text and what is worth a look."""
    blocks = paragraphs(text)
    sentences = [each for block in blocks for each in _SENTENCE.split(block) if each]
    counts = [len(each.split()) for each in sentences]
    words = sum(counts)
    mean = words / len(counts) if counts else 0.0
    found = [f"{words} words, {len(counts)} sentences, {mean:.1f} words a sentence"]
    for each, count in zip(sentences, counts, strict=True):
        if count > _LONG_SENTENCE:
            found.append(f"long sentence ({count} words): {each[:_SHOWN]}...")
    for block in blocks:
        if (count := len(block.split())) > _LONG_PARAGRAPH:
            found.append(f"long paragraph ({count} words): {block[:_SHOWN]}...")
    worn = Counter(match.group(0).lower() for match in _WORN.finditer(text))
    found += [f"worn-out: {word} ({count})" for word, count in worn.items()]
    return found


def main(arguments: list[str]) -> int:
    """Measure the file that the command line names."""
    if len(arguments) != 1:
        print("Name one file: python measure.py DRAFT.md", file=sys.stderr)
        return 2
    print("\n".join(report(Path(arguments[0]).read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
