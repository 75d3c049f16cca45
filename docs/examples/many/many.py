"""Many runs at once, and a thread: `python many.py apiary nectar`."""

from __future__ import annotations

import asyncio
import sys

from heartbit_site.library import Event, Heartbit


def note(event: Event) -> None:
    """Say which model calls were made."""
    if event.type == "model.answered":
        sys.stderr.write(f"{event.agent} answered in {event.data.duration_ms} ms\n")


async def main(words: list[str]) -> None:
    """Explain every word at the same time; then talk about all of them."""
    async with Heartbit().agent("teacher", "You explain a word in one sentence.") as teacher:
        listening = teacher.on_event(note)
        results = await asyncio.gather(*(listening.arun(f"Explain: {word}") for word in words))
        for word, result in zip(words, results, strict=True):
            sys.stdout.write(f"{word}: {result.expect().text}\n")
        thread = teacher.conversation(title="Words")
        await thread.asay(f"I have learned of {', '.join(words)}.")
        answer = await thread.asay("Which words did I learn?")
        sys.stdout.write(f"{answer.expect().text}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["apiary", "nectar", "swarm"]))
