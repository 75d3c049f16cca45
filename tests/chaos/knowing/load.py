"""Documents to be read and things to be remembered, each under a name of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.contrib.auth.models import User

from agents.actions.publish_agent import publish_agent
from agents.choices import TERMINAL
from agents.models import Agent, MemoryExtraction, Run
from heartbit_site.base import queues
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.enqueue import TaskMessage, send
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.knowledge.readers.pdf import MOST_OF_PART
from memory.models import Document
from tests.memory.knowledge import documents
from tests.runtime.extraction import proposal, saying
from tests.starts import start_run

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from uuid import UUID

    from memory.models import KnowledgeBase
    from tests.chaos.rig import Rig

AGENT = "keeper"
PARTS = 4  # of a long document
SECTIONS = 40  # of a short one
#: One run in so many says what the run before it said.
SAME_EVERY = 4
#: One document in so many is replaced while it is read.
REPLACED_EVERY = 3
_WAKE_SECONDS = 1.0


@dataclass(slots=True)
class Load:
    """Documents to be read and runs to be remembered, of one play.

    Attributes:
        name: Begins the names of runs; unique to a play.
        tokens: The words of each document in order, by its name; each stands in one passage.
        texts: The memory that each run's extraction stores, by the run's name; some say the same.
        ids: The runs that were accepted.
    """

    on: Rig
    name: str
    base: KnowledgeBase
    tokens: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    ids: list[UUID] = field(default_factory=list)
    _woken_at: float = 0.0

    def add_documents(self, count: int) -> Iterator[int]:
        """Upload them, each third a long PDF; a client that hears nothing uploads twice."""
        for number in range(count):
            yield number
            name = f"{number}.pdf" if number % 3 == 0 else f"{number}.md"
            self._upload(name, edition=1)
            save_document(self.base, name, self._data(name), by=SYSTEM)

    def add_runs(self, count: int) -> Iterator[int]:
        """Start runs for two people, whose agent remembers what they say."""
        people = [User.objects.create(username=f"{self.name}-{one}") for one in ("ann", "bob")]
        for number in range(count):
            yield number
            fact = number - 1 if number % SAME_EVERY == SAME_EVERY - 1 else number
            who = people[fact % 2]
            text = f"{who.username} keeps bee {fact}."
            self.texts[f"{self.name}-{number}"] = text
            said = saying(
                f"I keep bee {fact}. [[run: {self.name}-{number}]] [[extract_latency: 1500]]",
                proposal(text, f"I keep bee {fact}"),
            )
            by = Actor(who.username, "user", who.pk)
            self.ids.append(start_run(self.on.workspace, said, agent=AGENT, by=by))

    def replace_documents(self, choice: random.Random) -> int:
        """Replace some that are being read by another edition; return their number."""
        # A part is being read, which is not to be stored any more.
        rows = Document.objects.claimed().filter(base=self.base, pages_read__gt=0)
        names = [name for name in rows.values_list("name", flat=True) if self._is_first(name)]
        replaced = choice.sample(names, k=min(len(names), 1))
        for name in replaced:
            self._upload(name, edition=2)
        return len(replaced)

    def wake(self) -> None:
        """Ask for what is to be read, as Beat does each five seconds."""
        if time.monotonic() > self._woken_at + _WAKE_SECONDS:
            self._woken_at = time.monotonic()
            send(TaskMessage(queues.INGEST_DOCUMENTS, "", queues.SYSTEM, seconds=_WAKE_SECONDS))

    def unfinished(self) -> tuple[int, int, int]:
        """Return what has not ended: pages and documents, and runs with their extractions."""
        unread = list(Document.objects.filter(base=self.base).unread().values_list("pages_read"))
        ended = Run.objects.filter(workspace=self.on.workspace, status__in=TERMINAL).count()
        return len(unread), 2 * len(self.ids) - ended, sum(pages for (pages,) in unread)

    def extractions(self) -> dict[str, str]:
        """Return the names of the extractions in the model server's ledger, by run id."""
        rows = MemoryExtraction.objects.filter(source__in=self.ids)
        names = {key: f"{self.name}-{number}" for number, key in enumerate(self.ids)}
        return {
            str(run): f"{names[source]}-memories"
            for run, source in rows.values_list("run_id", "source_id")
        }

    def _upload(self, name: str, *, edition: int) -> None:
        count = PARTS * MOST_OF_PART - 7 if name.endswith(".pdf") else SECTIONS
        stem = name.partition(".")[0]
        self.tokens[name] = [f"token{stem}x{edition}x{place}x" for place in range(count)]
        save_document(self.base, name, self._data(name), by=SYSTEM)

    def _data(self, name: str) -> bytes:
        tokens = self.tokens[name]
        if name.endswith(".pdf"):
            return documents.pdf(tokens)
        return "\n\n".join(f"# {place}\n\n{each}" for place, each in enumerate(tokens)).encode()

    def _is_first(self, name: str) -> bool:
        number = int(name.partition(".")[0])
        return number % REPLACED_EVERY == 0 and "x1x" in self.tokens[name][0]


def prepare(on: Rig, name: str) -> Load:
    """Return a load without anything in it yet, with its base and its agent."""
    agent = Agent.objects.create(
        workspace=on.workspace,
        name=AGENT,
        system_prompt="You keep bees.",
        model="openai:chaos",
        queue=on.queue,
        extract_memories=True,
    )
    publish_agent(agent)
    base, _ = save_base(on.workspace, "bees", description="", by=SYSTEM)
    return Load(on, name, base)
