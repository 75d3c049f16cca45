"""Steps of agents and functions: `python workflow.py owls`."""

from __future__ import annotations

import sys

from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.executor import executor
from heartbit_site.library import Heartbit


@executor(effect="pure")
def frame(message: str) -> str:
    """Return the text between two lines."""
    return f"---\n{message}\n---"


def main(topic: str) -> None:
    """Draft, mend, frame; each step is journaled, and a crash repeats none that has ended."""
    flow = Workflow("letter").start("draft").agent("draft").edge("draft", "mend").agent("mend")
    flow = flow.edge("mend", frame)
    team = (
        Heartbit()
        .agent("draft", "Write a draft of three sentences.")
        .agent("mend", "Mend the text, and answer with it alone.")
        .workflow(flow, leads=True)
    )
    sys.stdout.write(f"{team.run(topic).expect().text}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "owls")
