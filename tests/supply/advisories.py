"""Known vulnerabilities of pinned releases, from data that is stored with its date.

A check reads ``advisories.json`` alone, so it takes no network and says how old the data is. Asking
for newer data is a command of its own (``make advisories``): one question per pinned release, to
the package index that pip uses.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import httpx
from pip._internal.models.index import PyPI

FILE: Final = Path(__file__).with_name("advisories.json")
#: Vulnerabilities that do not concern Heartbit, by id, with the reason.
ACCEPTED: Final[dict[str, str]] = {}
_SECONDS: Final = 20.0

#: Returns the body of an answer of the index about a release; raises ``httpx.HTTPError``.
Ask = Callable[[str, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Audit:
    """Result of a check.

    Attributes:
        found: A sentence for each vulnerability that is not accepted.
        asked: Number of the pinned releases that the data covers.
        pinned: Number of pinned releases.
        oldest: Day of the oldest data used; None: the data covers no release.
    """

    found: tuple[str, ...]
    asked: int
    pinned: int
    oldest: date | None

    def sentence(self, today: date) -> str:
        """Return the result in words, with the age of the data."""
        known = len(self.found)
        said = f"{known} known {'vulnerability' if known == 1 else 'vulnerabilities'}"
        if self.oldest is None:
            return f"advisories: none of {self.pinned} pinned releases was looked up yet"
        days = (today - self.oldest).days
        age = "today's" if days == 0 else f"up to {days} {'day' if days == 1 else 'days'} old"
        missing = self.pinned - self.asked
        rest = f"; {missing} not looked up (make advisories)" if missing else ""
        return f"advisories: {said} in {self.asked} of {self.pinned} releases, data {age}{rest}"


def check(pinned: Mapping[str, str], stored: Mapping[str, Any]) -> Audit:
    """Check releases against stored data.

    Args:
        pinned: Versions by distribution.
        stored: ``{"NAME==VERSION": {"asked": "2026-11-30", "known": [{"id", "fixed_in", ...}]}}``.
    """
    rows = {f"{name}=={version}": (name, version) for name, version in pinned.items()}
    have = {pin: stored[pin] for pin in rows if pin in stored}
    found = tuple(
        f"{pin}: {one['id']}, fixed in {', '.join(one['fixed_in']) or 'no release yet'}"
        for pin, entry in sorted(have.items())
        for one in entry["known"]
        if one["id"] not in ACCEPTED
    )
    days = [date.fromisoformat(entry["asked"]) for entry in have.values()]
    return Audit(found, len(have), len(rows), min(days, default=None))


def refresh(
    pinned: Mapping[str, str], stored: Mapping[str, Any], ask: Ask, *, today: date
) -> tuple[dict[str, Any], str]:
    """Return newer data, and a sentence if the index stopped answering; older data is kept.

    Data of releases that are pinned no more is dropped.

    Args:
        pinned: Versions by distribution to ask for.
        stored: The data so far.
        ask: Asks the index about a release.
        today: Date of the new data.
    """
    data = dict(stored)
    for name, version in pinned.items():
        try:
            answer = ask(name, version)
        except httpx.HTTPStatusError:
            continue  # the index does not know the release, which counts as not looked up
        except httpx.HTTPError as error:
            return (
                data,
                f"the index does not answer, so older data is kept ({type(error).__name__})",
            )
        known = [_advisory(one) for one in answer["vulnerabilities"] if not one["withdrawn"]]
        data[f"{name}=={version}"] = {"asked": today.isoformat(), "known": known}
    return data, ""


def _advisory(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["id"],
        "aliases": sorted(one["aliases"]),
        "fixed_in": list(one["fixed_in"]),
        "summary": one["summary"] or "",
    }


def load() -> dict[str, Any]:
    """Return the stored data."""
    stored: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return stored


def store(data: Mapping[str, Any], pinned: Collection[str]) -> None:
    """Store the data of releases that are pinned (``NAME==VERSION``)."""
    kept = {pin: entry for pin, entry in sorted(data.items()) if pin in pinned}
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def ask_index(name: str, version: str) -> Mapping[str, Any]:
    """Ask pip's package index about a release.

    Raises:
        httpx.HTTPError: The index does not answer, or not about this release.
    """
    trusted = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    with httpx.Client(timeout=_SECONDS, verify=trusted) as client:
        answer = client.get(f"{PyPI.pypi_url}/{name}/{version}/json")
        if answer.status_code == httpx.codes.NOT_FOUND:  # some mirrors have the newest alone
            newest = client.get(f"{PyPI.pypi_url}/{name}/json").raise_for_status()
            if newest.json()["info"]["version"] == version:
                answer = newest
        body: Mapping[str, Any] = answer.raise_for_status().json()
        return body
