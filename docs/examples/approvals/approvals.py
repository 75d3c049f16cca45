"""Nothing is sent unasked: `python approvals.py Write to Anna and to Bert`."""

from __future__ import annotations

import sys

from heartbit_site.library import Approval, Approve, Deny, Edit, Heartbit, tool


@tool  # not declared harmless, so it counts as something to be done at most once
def send_letter(to: str, text: str) -> str:
    """Send a letter.

    Args:
        to: The recipient.
        text: What it says.
    """
    sys.stdout.write(f"(sent to {to}: {text})\n")
    return f"Sent to {to}."


def ask(approval: Approval) -> Approve | Edit | Deny:
    """Decide by rules; a program with a terminal would ask its user here."""
    if approval.arguments["to"] == "Bert":
        return Deny("Bert has moved.")
    if not approval.arguments["text"].endswith("Yours, Heartbit"):
        return Edit({**approval.arguments, "text": f"{approval.arguments['text']} Yours, Heartbit"})
    return Approve()


def main(task: str) -> None:
    """Do the task."""
    clerk = Heartbit().agent("clerk", "You write letters.", tools=[send_letter])
    sys.stdout.write(f"{clerk.on_approval(ask).run(task).expect().text}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Write to Anna and to Bert that the bees are well.")
