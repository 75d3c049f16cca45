"""No regular expression of the product takes more than linear time, whatever text it meets.

Found in the sources, so that a new one cannot be forgotten: it belongs into a name of its module.
Those within a function, and those whose callers make them linear, are listed with the reason, and
their callers are attacked instead.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from typing import Any

from tests.patterns import found
from tests.patterns.attack import CALLERS
from tests.server_process import ROOT

#: Seconds in which all is done many times; a pattern that ignores its limit ends here.
_SECONDS = 280
#: What each was before it was mended, so that the attack is known to find its kind.
_BLOWN_UP = {
    "blank lines before a word": r"(?m)^\s*(?:import\b[^(]|export\b)",
    "a value and white space behind it": r"(?m)^home\s*=\s*(\S.*?)\s*$",
    "an end that never comes": "\x02([^\x03]*)\x03",
    "brackets that stay open": r"([^\s,()]+)(?:\([^)]*\))?",
    "repetition in repetition": r"'''(?:[^']+|'{1,2}(?!'))*'''",
    "a heading among blank lines": r"(?im)^[\W\d]*title\s*$",
    "optional parts side by side": r"(?:a|b|ab)*c",
}


def _attack(asked: list[dict[str, Any]]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns.attack"],
        input=json.dumps(asked),
        text=True,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=_SECONDS,
        check=True,
    )
    slow: dict[str, str] = json.loads(done.stdout)
    return slow


def _asked(name: str, pattern: re.Pattern[Any], methods: list[str]) -> dict[str, Any]:
    source = pattern.pattern
    return {
        "name": name,
        "pattern": source if isinstance(source, str) else source.decode("latin-1"),
        "bytes": isinstance(source, bytes),
        "flags": pattern.flags,
        "methods": methods,
    }


def _patterns_of_the_product() -> list[dict[str, Any]]:
    asked = []
    for module, tree in found.sources():
        for name in found.named(tree):
            if f"{module}.{name}" in CALLERS:
                continue
            compiled = found.patterns(getattr(importlib.import_module(module), name))
            assert compiled, f"{module}.{name} holds no pattern: name what re.compile returns"
            asked += [
                _asked(f"{module}.{name}", pattern, found.methods_of(name, tree))
                for pattern in compiled
            ]
    return asked


def test_given_every_pattern_of_the_product_when_attacked_then_none_is_worse_than_linear() -> None:
    asked = _patterns_of_the_product()
    assert len(asked) > 100
    assert _attack(asked) == {}


def test_given_callers_of_listed_patterns_when_attacked_then_none_is_worse_than_linear() -> None:
    assert _attack([{"name": name} for name in CALLERS]) == {}


def test_given_patterns_that_blow_up_when_attacked_then_each_is_found() -> None:
    asked = [_asked(name, re.compile(source), ["finditer"]) for name, source in _BLOWN_UP.items()]
    assert set(_attack(asked)) == set(_BLOWN_UP)


def test_given_the_sources_when_read_then_patterns_are_names_of_modules_or_listed() -> None:
    inline = {place for module, tree in found.sources() for place in found.inline(module, tree)}
    assert inline == {name for name in CALLERS if ":" in name}
    named = {f"{module}.{name}" for module, tree in found.sources() for name in found.named(tree)}
    assert {name for name in CALLERS if ":" not in name} <= named


def test_given_the_sources_when_read_then_re_is_imported_in_one_way() -> None:
    other = [module for module, tree in found.sources() if found.imports_otherwise(tree)]
    assert other == []


def test_given_validators_of_models_when_attacked_then_none_is_worse_than_linear() -> None:
    from django.apps import apps  # noqa: PLC0415
    from django.core.validators import RegexValidator  # noqa: PLC0415

    asked = [
        _asked(str(field), re.compile(validator.regex), ["match"])
        for model in apps.get_models()
        if model.__module__.partition(".")[0] in found.PACKAGES
        for field in model._meta.fields
        for validator in field.validators
        if isinstance(validator, RegexValidator)
    ]
    assert asked
    assert _attack(asked) == {}
