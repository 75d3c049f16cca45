"""The audit of dependencies says what it knows and how old it is; the bill names all releases."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import httpx

from tests.supply import advisories
from tests.supply.bill import bill
from tests.supply.lock import releases

TODAY = date(2026, 11, 30)
PINNED = {"leaky": "1.0", "sound": "2.0", "newer": "3.0"}
LEAK = {"id": "PYSEC-1", "aliases": [], "fixed_in": ["1.1"], "summary": "x", "withdrawn": None}


def answered(name: str, version: str) -> dict[str, Any]:
    withdrawn = {**LEAK, "id": "PYSEC-2", "withdrawn": "2026-01-01"}
    if name == "newer":
        raise httpx.ConnectError("no route")
    return {"vulnerabilities": [LEAK, withdrawn] if name == "leaky" else []}


def test_a_known_vulnerability_is_found_and_data_has_its_age() -> None:
    data, problem = advisories.refresh(PINNED, {}, answered, today=date(2026, 11, 20))
    assert problem == "the index does not answer, so older data is kept (ConnectError)"
    found = advisories.check(PINNED, data)
    assert found.found == ("leaky==1.0: PYSEC-1, fixed in 1.1",)
    assert found.sentence(TODAY) == (
        "advisories: 1 known vulnerability in 2 of 3 releases, data up to 10 days old; "
        "1 not looked up (make advisories)"
    )
    mended = advisories.check({**PINNED, "leaky": "1.1"}, data)
    assert (mended.found, mended.asked) == ((), 1), "the data is of the release, not the name"


def test_without_data_nothing_is_said_to_be_safe() -> None:
    said = advisories.check(PINNED, {}).sentence(TODAY)
    assert said == "advisories: none of 3 pinned releases was looked up yet"


def test_what_is_stored_is_of_pinned_releases_and_has_no_finding() -> None:
    pinned, stored = releases(), advisories.load()
    assert set(stored) <= {f"{name}=={version}" for name, version in pinned.items()}
    assert advisories.check(pinned, stored).found == ()


def test_the_bill_has_each_pinned_release_once_with_references_that_resolve() -> None:
    pinned = releases()
    made = bill(pinned, at=datetime(2026, 11, 30, tzinfo=UTC))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert {one["name"]: one["version"] for one in made["components"]} == pinned
    references = {one["bom-ref"] for one in made["components"]}
    assert len(references) == len(pinned)
    assert all(set(one["dependsOn"]) <= references for one in made["dependencies"])
    scopes = {one["name"]: one["scope"] for one in made["components"]}
    assert (scopes["django"], scopes["aiodocker"], scopes["mypy"]) == (
        *("required", "optional", "excluded"),
    )
    django = next(one for one in made["components"] if one["name"] == "django")
    assert django["licenses"] == [{"expression": "BSD-3-Clause"}]
