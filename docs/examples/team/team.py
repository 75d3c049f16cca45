"""A team with an orchestrator: `python team.py Compare hives of wood and of straw`."""

from __future__ import annotations

import sys

from heartbit_site.library import Heartbit


def main(task: str) -> None:
    """Let the orchestrator delegate, and print the answer and what each member has found."""
    team = (
        Heartbit()
        .agent("researcher", "You find facts.", description="Finds facts.", tools=["calculate"])
        .agent("writer", "You write plain prose.", description="Writes prose.")
        .blackboard({"language": "English"})
    )
    result = team.run(task).expect()
    sys.stdout.write(f"{result.text}\n")
    for key, value in sorted(result.blackboard.items()):
        sys.stdout.write(f"{key}: {value}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Compare hives of wood and of straw.")
