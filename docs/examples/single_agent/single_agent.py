"""One agent answers: `python single_agent.py Why are bees important?`."""

from __future__ import annotations

import sys

from heartbit_site.library import Heartbit


def main(task: str) -> None:
    """Ask, and print the answer with what it took."""
    writer = Heartbit().agent("writer", "You answer in two short sentences.")
    result = writer.run(task).expect()
    sys.stdout.write(f"{result.text}\n")
    sys.stderr.write(f"{result.usage.input_tokens} tokens read, cost {result.cost}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Why are bees important?")
