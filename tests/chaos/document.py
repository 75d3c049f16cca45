"""The document with the figures of the last chaos runs, made from ``build/chaos.json``.

python -m tests.chaos.document > docs/architecture/chaos.md
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.installation import BUILD

TITLES = {
    "R1": "a worker is killed every two seconds",
    "R2": "a worker dies at each of twelve points",
    "R3": "everything in Valkey is deleted, again and again",
    "R4": "the broker is killed, frozen, full",
    "R5": "PostgreSQL restarts",
    "R6": "every message is delivered three times, late and shuffled",
    "R7": "a frozen worker wakes up and writes",
    "R8": "a worker dies between claim and first heartbeat",
    "R9": "a run aborts its process each time",
    "R10": "clocks jump by hours and days",
    "R11": "three beats die by turns",
    "R14": "a cancel meets everything else",
    "R15": "model providers misbehave",
    "R18": "workers are replaced one after the other",
    "R19": "recorded journals on the present code",
    "R20": "any order of events, against a model",
    "R21": "ten thousand runs of one workspace beside another; a full disk; no files to open",
    "R22": "thirty minutes of mixed load, a kill a minute",
    "R23": "yesterday's backup is restored on another machine, whose broker is empty",
    "R24": "workers die while they read documents and extract memories",
    "R25": "all workers die over open calls, once and twice",
    "R26": "a slice dies at every write of random workflows, before it and after it",
    "R27": "workers die inside workflows: joins, windows, questions, forks, loops, nested ones",
    "R28": "workers die under one workflow that handles a thousand entries, within windows",
    "R29": "web processes and workers die under approvals over OpenAI, MCP, A2A and AG-UI",
    "R30": "a slice dies at every write of runs whose results are reviewed by two at once",
    "R31": "processes die between a paid order's row, the run that it starts, and its effect",
    "R32": "a slice dies at every write of runs that a cap on spending makes ask",
    "S12": "hostile input at every edge",
}
_HEAD = """\
# Chaos: the last figures

`make chaos` plays all of these with real processes, PostgreSQL and Valkey (`ONLY=R1` one of them,
`SIZE=small` the size that CI plays; R22 only when it is named). The oracles are outside
Heartbit: fake providers and receivers write down what they are asked, and a checker joins their
ledgers with the journals. A scenario whose fault did not hit, or whose load did not succeed, proves
nothing and does not pass. Made by `python -m tests.chaos.document` from the last runs.
"""


def text(rows: list[dict[str, Any]]) -> str:
    """The whole document."""
    lines = [
        _HEAD,
        "| scenario | what happens | runs | figures (target) | |",
        "|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row["scenario"][0], int(row["scenario"][1:]))):
        target = row["target"]
        shown = [
            f"{name.replace('_', ' ')} {value} (<= {target[name]})"
            if target[name]
            else f"{name.replace('_', ' ')} {value}"
            for name, value in row["figure"].items()
        ]
        state = "pass" if row["pass"] else "FAIL"
        size = "" if row.get("size") == "full" else ", small"
        cells = (
            row["scenario"],
            TITLES[row["scenario"]],
            row["runs"],
            "; ".join(shown),
            state + size,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join([*lines, "", "A figure without a target in brackets has to be 0."]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text(json.loads((BUILD / "chaos.json").read_text())))
