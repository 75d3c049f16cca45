"""Agents search their bases and cite; a worker that is killed loses and repeats no passage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from heartbit_site.base import orm, queues
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.enqueue import TaskMessage, send
from memory.actions import documents as saving
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.choices import DocumentState
from memory.knowledge.readers.pdf import MOST_OF_PART
from memory.models import Document, KnowledgeBase, Passage
from tests.fleet import Worker, wait_until
from tests.memory.knowledge import documents
from tests.runtime.deciding import waiting
from tests.runtime.desk import agent_tools
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
ASK = '[[calls: search_knowledge {"query": "Which class of train may I book?"}]]'


@pytest.fixture
def bases(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[KnowledgeBase]]:
    """A handbook and a secret base, without a message to a worker that could read them."""
    monkeypatch.setattr(saving, "send", lambda _: None)
    made = [save_base(workspace, name, description="", by=SYSTEM)[0] for name in ("open", "secret")]
    yield made
    for base in made:
        remove_base(base, by=SYSTEM)


def filled(bases: list[KnowledgeBase]) -> None:
    save_document(bases[0], "handbook.pdf", documents.pdf_handbook(), by=SYSTEM)
    save_document(bases[1], "secret.md", b"# Trains\n\nThe train is sold.", by=SYSTEM)
    ingest_documents(goes_on=lambda: True)


def given(row: Agent, *names: str) -> None:
    ToolBinding.objects.filter(agent=row, tool="search_knowledge").update(
        knowledge_bases=list(names)
    )
    publish_agent(row)


async def test_an_agent_finds_passages_of_its_bases_alone_and_each_has_a_citation(
    studio: Studio, agent: Create, bases: list[KnowledgeBase]
) -> None:
    def prepared() -> None:
        filled(bases)
        given(agent(tools=("search_knowledge",)), "open")

    await orm.run_in_thread(prepared)
    run = await studio.run(
        f'{ASK} [[calls: search_knowledge {{"query": "train", "base": "secret"}}]] [[text: 2nd.]]'
    )
    calls = await orm.run_in_thread(lambda: list(run.calls.order_by("id")))
    found: dict[str, Any] = json.loads(calls[0].result or "")
    assert found["searched"] == ["open"]
    assert found["found_by"].startswith("words only")
    [passage] = found["passages"]
    assert passage["citation"] == "handbook.pdf, page 2: Travel"
    number = int(passage["link"].rstrip("/").rpartition("/")[2])
    assert passage["link"].endswith(f"/w/{studio.workspace.slug}/passages/{number}/")
    stored = await orm.run_in_thread(lambda: Passage.objects.get(pk=number).text)
    assert passage["text"] == stored
    assert calls[1].status == "error"
    assert "You have no knowledge base 'secret': yours are open." in str(calls[1].result)


async def test_what_was_found_counts_as_private_and_as_text_by_outsiders(
    studio: Studio, agent: Create, bases: list[KnowledgeBase]
) -> None:
    specs = list(marked(vars(agent_tools).values()))
    for spec in specs:
        registry.register(spec)
    try:
        await orm.run_in_thread(lambda: filled(bases))
        await orm.run_in_thread(lambda: agent(tools=("search_knowledge", "send_letter")))
        run_id = await studio.start(f'{ASK} [[then: send_letter {{"text": "Second."}}]]')
        [call] = await waiting(studio, run_id)
        assert call.approval_view is not None
        assert (
            "after private data (search_knowledge) and text by outsiders (search_knowledge)"
            in str(call.approval_view["reason"])
        )
    finally:
        for spec in specs:
            registry._specs.pop(spec.name, None)


def test_a_worker_that_is_killed_while_it_reads_loses_no_passage_and_stores_none_twice(
    bases: list[KnowledgeBase],
) -> None:
    count = 5 * MOST_OF_PART + 7
    data = documents.pdf([f"Token{number}." for number in range(count)])
    row, _ = save_document(bases[0], "long.pdf", data, by=SYSTEM)
    queue = f"knowledge-{row.pk}"

    def now() -> Document:
        return Document.objects.get(pk=row.pk)

    def asked() -> None:
        send(TaskMessage(queues.INGEST_DOCUMENTS, "", queue))

    with Worker(queues=queue, concurrency=5) as worker:
        asked()
        wait_until(lambda: now().pages_read and now().claimed_until, what="a part in the middle")
        worker.kill()
        killed = now()
        assert killed.state == DocumentState.READING
        assert 0 < killed.pages_read < count
        worker.start()
        # Its claim expires, as it would 45 s later.
        Document.objects.filter(pk=row.pk).update(
            claimed_until=timezone.now() - timedelta(seconds=1)
        )

        def ready() -> bool:
            asked()
            return now().state == DocumentState.READY

        wait_until(ready, seconds=40, what="the document")
    stored = Passage.objects.filter(document=row).order_by("position")
    assert list(stored.values_list("position", "page", "text")) == [
        (number, number + 1, f"Token{number}.") for number in range(count)
    ]
    assert now().claim > killed.claim
