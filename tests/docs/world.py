"""Agents, people, runs, memories and files that the documents' commands name."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import User

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.actions.skills import save_skill
from agents.choices import Placement
from agents.models import Agent, Run
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Membership, Role, Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.models import MemoryItem, Passage
from tests.admin.rows import Held
from tests.api.test_pictures import drawn
from tests.doubtful import in_doubt
from tests.fleet import wait_until
from tests.memory.knowledge import documents
from tests.operation.test_quarantine import quarantined
from tests.skills.folders import skill_files, skill_folder
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.cli.places import Place

#: Agents that pages name beside the default team.
AGENTS: Final = ("assistant", "clerk", "coder", "support")
SUM: Final = 'Add. [[calls: calculate {"expression": "6*7"}]] [[text: It is 42.]]'


@dataclass(frozen=True)
class World:
    """A workspace with all of it.

    Attributes:
        workspace: Its own.
        folder: Where the commands are typed; not the checkout.
        heartbit: The command line, for this workspace.
    """

    workspace: Workspace
    folder: Path
    heartbit: Place

    def build(self, page: Path) -> None:
        """Make what the commands of a page are about, but not what they make themselves."""
        made = page.read_text()
        for name in AGENTS:
            if f'"name": "{name}"' in made:
                continue
            row = Agent.objects.create(workspace=self.workspace, name=name, system_prompt="Help.")
            publish_agent(row)
        if 'name = "digest"' not in made:
            steps = {"sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }} * 7"}}}
            content = {"name": "digest", "steps": steps, "input": {"type": "object"}}
            create_agent(self.workspace, WorkflowSpec.model_validate(content), by=SYSTEM)
        researcher = Agent.objects.get(workspace=self.workspace, name="researcher")
        for turns in (30, 40):
            researcher.max_turns = turns
            researcher.save()
            publish_agent(researcher)
        for body in ("Look.", "Look twice."):
            save_skill(self.workspace, skill_folder("customer-support", body=body), by=SYSTEM)
        save_skill(self.workspace, skill_folder("research"), by=SYSTEM)
        person, _ = User.objects.get_or_create(username="ann")
        Membership.objects.create(workspace=self.workspace, user=person, role=Role.OPERATOR)
        Workspace.objects.get_or_create(slug="acme", defaults={"name": "acme"})
        self._write_files(has_team="./heartbit.toml" in made)

    def _write_files(self, *, has_team: bool) -> None:
        for name in ("docs", "repository", "cassettes", "customer-support/references"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "docs/travel.md").write_text("# Travel\n\nBook trains in second class.\n")
        (self.folder / "contract.pdf").write_bytes(documents.pdf(["The rent is due in May."]))
        (self.folder / "photo.jpg").write_bytes(drawn("JPEG"))
        (self.folder / "issue.md").write_text("It prints 41.\n")
        (self.folder / "scout.md").write_text("You find facts, and name their sources.\n")
        (self.folder / "repository/sum.py").write_text("print(6 * 7 - 1)\n")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("sum.sql", "SELECT 42")
        (self.folder / "repository.zip").write_bytes(packed.getvalue())
        skill = skill_files("customer-support", body="Look three times.")["SKILL.md"]
        (self.folder / "customer-support/SKILL.md").write_bytes(skill)
        (self.folder / "customer-support/references/tone.md").write_text("Be kind.\n")
        if has_team:
            (self.folder / "heartbit.toml").write_text(
                '[[agents]]\nname = "teller"\ndescription = "Tells."\nsystem_prompt = "Tell."\n'
            )

    def ended(self) -> str:
        """A run of two turns that has succeeded."""
        return str(self.heartbit("run", SUM, "--agent", "analyst", "--json").json["id"])

    def failed(self) -> str:
        """A run that has failed."""
        held = Held(self._unclaimed())
        held.fail("The disk was full.")
        return str(held.id)

    def agent(self) -> str:
        """An agent with three versions."""
        return "researcher"

    def newcomer(self) -> str:
        """A name that nobody has yet."""
        return f"person-{self.workspace.slug}"

    def queued(self) -> str:
        """A run that nobody works on yet."""
        return str(self._unclaimed())

    def _unclaimed(self) -> UUID:
        Agent.objects.filter(workspace=self.workspace, name="support").update(queue="idle")
        return start_run(self.workspace, "Add.", agent="support")

    def quarantined(self) -> str:
        """A run that killed its worker."""
        return str(quarantined(self.workspace).pk)

    def held(self) -> str:
        """A run that was in flight in a backup."""
        run_id = self._unclaimed()
        Run.objects.filter(pk=run_id).update(home=Placement.RESTORED)
        return str(run_id)

    def uncertain(self) -> str:
        """A run with a call of unknown outcome, 1.0."""
        return str(in_doubt(self.workspace).run_id)

    def memory(self) -> str:
        """The number of a memory of ann's."""
        self.heartbit("memory", "add", "Ann swims.", "--agent", "assistant", "--person", "ann")
        return str(MemoryItem.objects.get(workspace=self.workspace, text="Ann swims.").pk)

    def passage(self) -> str:
        """The number of a passage of a document that was read."""
        base, _ = save_base(self.workspace, "rules", description="", by=SYSTEM)
        document, _ = save_document(base, "rules.md", b"# Rules\n\nBe kind.\n", by=SYSTEM)
        ingest_documents(goes_on=lambda: True)
        found = Passage.objects.filter(document=document)
        wait_until(found.exists, what="the document is read")
        return str(found.get().pk)
