"""Each pattern of collaboration with the same two agents: `python every_pattern.py Plan a hive`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from agents.workflows.builder import patterns
from agents.workflows.patterns.magentic import ledger_schema
from heartbit_site.library import Heartbit

if TYPE_CHECKING:
    from agents.llm.protocol import ChatModel

PAIR: Final = ("coder", "reviewer")
PATTERNS: Final = (
    patterns.sequential("one-after-another", PAIR),
    patterns.concurrent("side-by-side", PAIR, then="coder"),
    patterns.group_chat(
        "panel",
        {"coder": "writes", "reviewer": "reviews"},
        select=patterns.no_repeat("smart"),
        end=patterns.any_of(patterns.max_messages(4), patterns.keyword("APPROVED")),
    ),
    patterns.handoff("desk", PAIR, max_handoffs=3),
    patterns.magentic("managed", "boss", PAIR, max_rounds=3),
    patterns.squad("rounds", PAIR, lead="coder", rounds=2),
)


def main(task: str, model: ChatModel | None = None) -> None:
    """Do the task once with each pattern; a failure is told like an answer."""
    for pattern in PATTERNS:
        team = Heartbit() if model is None else Heartbit().provider(model)
        team = team.agent("coder", "Write short, plain code.").agent(
            "reviewer", "Review the code. Write APPROVED if nothing is left to do."
        )
        if pattern.name == "managed":
            schema = ledger_schema(PAIR)
            team = team.agent("boss", "Plan, delegate and decide.", response_schema=schema)
        result = team.workflow(pattern, leads=True).run(task)
        sys.stdout.write(f"{pattern.name}: {result.error or result.text}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Plan a program that counts the bees at a hive.")
