"""The passages that a search found, on the pages of the run and of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.start_conversation import start_conversation
from agents.models import Agent, Conversation, Run, ToolBinding
from heartbit_site.base.audit import SYSTEM
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.models import Document
from tests.fleet import wait_until
from tests.memory.knowledge import documents
from tests.starts import post_message

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.web.visitor import Visitor

QUERY = '{"query": "Which class of train may I book?"}'
CITATION = "handbook.pdf, page 2: Travel"


@pytest.fixture
def answered(worker: Worker, workspace: Workspace) -> tuple[Conversation, Run]:
    """A conversation, with a run that has searched the handbook."""
    base, _ = save_base(workspace, "handbook", description="", by=SYSTEM)
    saved, _ = save_document(base, "handbook.pdf", documents.pdf_handbook(), by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    wait_until(lambda: Document.objects.get(pk=saved.pk).state == "ready")  # a worker may read it
    clerk = Agent.objects.create(workspace=workspace, name="clerk", system_prompt="Cite.")
    ToolBinding.objects.create(agent=clerk, tool="search_knowledge", knowledge_bases=["handbook"])
    publish_agent(clerk)
    talk = start_conversation(workspace, agent="clerk")
    asked = f"How may I travel? [[calls: search_knowledge {QUERY}]] [[text: By train.]]"
    run_id = post_message(talk, asked).run_id
    run = wait_until(lambda: Run.objects.filter(pk=run_id, finished_at__isnull=False).first())
    return talk, run


def test_a_source_on_a_runs_page_opens_its_passage(
    signed_in: Visitor, answered: tuple[Conversation, Run]
) -> None:
    _, run = answered
    page = signed_in.page
    signed_in.go(f"runs/{run.pk}/")
    page.locator("details.call summary").first.click()
    page.get_by_role("link", name=CITATION).click()
    expect(page.locator("main")).to_contain_text("second class")


def test_a_conversation_names_the_sources_of_an_answer(
    signed_in: Visitor, answered: tuple[Conversation, Run]
) -> None:
    talk, _ = answered
    page = signed_in.page
    signed_in.go(f"chat/clerk/{talk.pk}/")
    expect(page.locator(".answer")).to_contain_text("By train.")
    page.get_by_role("link", name=CITATION).click()
    expect(page.locator("main")).to_contain_text("second class")
