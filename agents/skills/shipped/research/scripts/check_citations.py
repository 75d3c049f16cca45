"""Check the citations of a report: numbers in brackets, and a section "Sources" that explains them.

Usage: python check_citations.py REPORT.md

Prints what is wrong, a line each, and exits with 1; prints a count and exits with 0 if all is well.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

_CITED = re.compile(r"\[(\d+)\]")
_SOURCE = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\[(\d+)\][ \t]+\S", re.MULTILINE)
_HEADING = re.compile(r"^#+\s*sources\s*$", re.IGNORECASE | re.MULTILINE)
_EXEMPT = re.compile(r"^#+\s*(method|question)", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_FEW_WORDS = 12


def problems(report: str) -> list[str]:
    """Return what is wrong with a report's citations, as sentences."""
    heading = _HEADING.search(report)
    if heading is None:
        return ["There is no section with the heading Sources."]
    body, listed = report[: heading.start()], report[heading.end() :]
    cited = {int(number) for number in _CITED.findall(body)}
    numbers = [int(number) for number in _SOURCE.findall(listed)]
    found = [f"[{number}] is cited, but is not a source." for number in sorted(cited - {*numbers})]
    found += [
        f"[{number}] is a source, but is never cited." for number in sorted({*numbers} - cited)
    ]
    found += [
        f"[{number}] stands twice among the sources."
        for number, times in sorted(Counter(numbers).items())
        if times > 1
    ]
    exempt = False
    for paragraph in filter(None, map(str.strip, _PARAGRAPH_END.split(body))):
        if paragraph.startswith("#"):
            exempt = _EXEMPT.match(paragraph) is not None
        elif not exempt and len(paragraph.split()) >= _FEW_WORDS and not _CITED.search(paragraph):
            found.append(f"Without a citation: {paragraph[:60]!r}")
    return found


def main(arguments: list[str]) -> int:
    """Check the file that the command line names."""
    if len(arguments) != 1:
        print("Name one file: python check_citations.py REPORT.md", file=sys.stderr)
        return 2
    report = Path(arguments[0]).read_text(encoding="utf-8")
    found = problems(report)
    print("\n".join(found) if found else f"{len(set(_CITED.findall(report)))} sources, all cited.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
