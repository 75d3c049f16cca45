"""Scenarios of texts that cost more than linear time."""

from __future__ import annotations

from tests.security.scenario import Scenario

LINEAR = {
    "S30": Scenario(
        "what others write costs linear time, and whoever asks beside it waits less than a second",
        (
            *("tests/security/test_linear.py", "tests/patterns/test_patterns.py"),
            *("tests/base/test_linear.py", "tests/base/test_jsonschema.py"),
            "tests/workflows/test_hostile_routing.py",
        ),
    ),
}
