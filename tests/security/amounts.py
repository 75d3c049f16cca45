"""Scenarios of amounts: what others send, and the memory and time that it may take.

A test allows at most 200 MB more than before, and one second in which another task waits.
"""

from __future__ import annotations

from tests.security.scenario import Scenario

AMOUNTS = {
    "S-amounts": Scenario(
        "much from little: archives, messages, answers and mails cost bounded memory, and no run "
        "waits for them",
        (
            *("tests/security/test_amounts.py", "tests/base/test_json_values.py"),
            *("tests/runtime/test_folder.py", "tests/tools/test_scripts.py"),
            *("tests/runtime/test_code_mode.py", "tests/llm/test_failures.py"),
        ),
    ),
    "S-readers": Scenario(
        "a reader that a document, page or calendar took over reaches nothing",
        (
            *("tests/base/test_reader_walls.py", "tests/memory/knowledge/test_reading.py"),
            *("tests/tools/connectors/test_web_fetch.py", "tests/deploy/test_systemd.py"),
        ),
    ),
}
