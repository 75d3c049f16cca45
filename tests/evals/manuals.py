"""Labelled questions over documents of two kinds, both of packages that are installed.

* ``aws``: the manuals of Amazon's services that botocore ships, a page of HTML for each service.
  Their authors wrote examples too, with titles such as "To create an IP set": the title is the
  question, and the section of its operation the answer. The titles are not in the manuals.
* ``django``: the docstrings of ``tests.evals.questions``, a page of Markdown for each module. The
  first sentence of a docstring is the question, and the section with the rest of it the answer.

The labels are exact. The other sections of a page are what a search may mistake for the answer.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import importlib.util
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.evals.questions import is_held_out, load_questions

SOURCES: Final = ("aws", "django")
_LEAST_QUESTIONS, _MOST_OPERATIONS = 20, 100
#: Manuals of a service that has another one with the same operations: no label could be exact.
_COPIES: Final = frozenset({"elb", "waf-regional"})
_TITLE: Final = re.compile(r"To (\w+(?: \S+){2,}?)\.?")


@dataclass(frozen=True, slots=True)
class ManualQuestion:
    """A question, and the section that answers it.

    Attributes:
        source: One of ``SOURCES``, which is also the knowledge base.
        document: Name of the document.
        section: Heading of the section, which names what the question asks for.
        held_out: True if it may not be looked at while a search is tuned: half of the sections, by
            a hash.
    """

    source: str
    text: str
    document: str
    section: str
    held_out: bool


@dataclass(frozen=True, slots=True)
class Manuals:
    """Documents by their names, and the questions about them."""

    documents: dict[str, bytes]
    questions: list[ManualQuestion]


def load_manuals(source: str) -> Manuals:
    """Return the documents and questions of a source, in the same order each time."""
    return _load_aws() if source == "aws" else _load_django()


def digest(questions: list[ManualQuestion]) -> str:
    """Return what identifies the held-out part."""
    rows = sorted(f"{one.text}\n{one.document}\n{one.section}" for one in questions if one.held_out)
    return hashlib.sha256("\n\n".join(rows).encode()).hexdigest()[:12]


def _load_aws() -> Manuals:
    found = Manuals({}, [])
    for folder in sorted(_botocore().iterdir()):
        if not folder.is_dir() or folder.name in _COPIES:
            continue
        version = max(path for path in folder.iterdir() if path.is_dir())
        examples = _read(version, "examples-1").get("examples", {})
        labels: dict[str, set[str]] = defaultdict(set)
        for operation, given in examples.items():
            for title in (_TITLE.fullmatch(each.get("title", "")) for each in given):
                if title is not None:
                    labels[title[1]].add(operation)
        exact = {title: each.pop() for title, each in labels.items() if len(each) == 1}
        if len(exact) < _LEAST_QUESTIONS:
            continue
        service = _read(version, "service-2")
        if len(service["operations"]) > _MOST_OPERATIONS:
            continue
        name, page = f"{folder.name}.html", service["metadata"]["serviceFullName"]
        found.documents[name] = _page(page, service).encode()
        found.questions.extend(
            ManualQuestion(
                *("aws", f"How do I {title} in {page}?", name, operation),
                held_out=is_held_out(f"{name} {operation}"),
            )
            for title, operation in sorted(exact.items())
        )
    return found


def _botocore() -> Path:
    spec = importlib.util.find_spec("botocore")  # moto brings it
    if spec is None or spec.origin is None:
        raise RuntimeError("botocore is not installed: `make setup` does that")
    return Path(spec.origin).parent / "data"


def _read(version: Path, name: str) -> dict[str, Any]:
    plain, packed = version / f"{name}.json", version / f"{name}.json.gz"
    found: dict[str, Any] = {}
    if packed.exists():
        found = json.loads(gzip.decompress(packed.read_bytes()))
    elif plain.exists():
        found = json.loads(plain.read_bytes())
    return found


def _page(title: str, service: dict[str, Any]) -> str:
    sections = "".join(
        f"<h2>{html.escape(name)}</h2>{operation.get('documentation', '')}"
        for name, operation in sorted(service["operations"].items())
    )
    head = f"<!doctype html><html><head><title>{html.escape(title)}</title></head>"
    return f"{head}<body><main><h1>{html.escape(title)}</h1>{sections}</main></body></html>"


def _load_django() -> Manuals:
    pages: dict[str, list[str]] = defaultdict(list)
    found = Manuals({}, [])
    questions = load_questions()
    names = Counter((one.module, one.name) for one in questions)
    for one in questions:
        name = f"{one.module}.md"
        pages[name].append(f"## `{one.name}`\n\n{one.answer}\n")
        if names[one.module, one.name] == 1:
            asked = ManualQuestion("django", one.text, name, one.name, held_out=one.held_out)
            found.questions.append(asked)
    for name, sections in sorted(pages.items()):
        found.documents[name] = "\n".join([f"# {name[:-3]}\n", *sections]).encode()
    return found
