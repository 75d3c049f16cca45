"""An agent with a server's tools: `python mcp_agent.py http://localhost:8000/mcp Add 2 and 3`.

A private address has to be in HEARTBIT_HTTP_ALLOWLIST.
"""

from __future__ import annotations

import sys

from heartbit_site.library import Heartbit


def main(url: str, task: str) -> None:
    """Give the agent all tools of the server, and do the task."""
    clerk = Heartbit().mcp(url).agent("clerk", "Use your tools; then answer in one sentence.")
    result = clerk.run(task).expect()
    for event in result.events:
        if event.type == "tool.finished":
            sys.stdout.write(f"(a tool said: {event.data.content})\n")
    sys.stdout.write(f"{result.text}\n")


if __name__ == "__main__":
    main(sys.argv[1], " ".join(sys.argv[2:]) or "Add 2 and 3.")
