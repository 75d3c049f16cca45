"""Skills in the admin: uploaded, read, given to agents, compared and rolled back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from agents.actions.skills import record_shipped_skills, save_skill
from agents.models import Agent, Skill
from agents.skills.archive import pack
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Membership, Role, Workspace
from tests.admin.forms import filled, filled_undrawn
from tests.clients import Client
from tests.skills.folders import skill_files, skill_folder

pytestmark = pytest.mark.django_db
ADD = "/admin/agents/skill/add/"


def entered(workspace: Workspace, role: str) -> Client:
    user = User.objects.create(username=f"{role}-of-skills", is_staff=True)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def editor(workspace: Workspace) -> Client:
    return entered(workspace, Role.EDITOR)


def upload(files: dict[str, bytes]) -> SimpleUploadedFile:
    return SimpleUploadedFile("skill.zip", pack(files))


def page_of(skill: Skill) -> str:
    return reverse("admin:agents_skill_change", args=[skill.pk])


def deletion_of(skill: Skill) -> str:
    return reverse("admin:agents_skill_delete", args=[skill.pk])


def text_of(response: Any) -> str:
    return str(response.content.decode())


def added(client: Client, workspace: Workspace, files: dict[str, bytes]) -> Any:
    data = {"workspace": workspace.pk, "archive": upload(files)}
    return client.post(ADD, data, follow=True)


def test_an_archive_is_uploaded_and_the_skill_is_read_on_its_page(
    editor: Client, workspace: Workspace
) -> None:
    shown = text_of(added(editor, workspace, skill_files(body="<b>Hi.</b>", a__b=b"<i>1</i>")))
    assert "greeting is v1 now." in shown
    skill = Skill.objects.get(workspace=workspace)
    page = text_of(editor.get(page_of(skill)))
    assert "&lt;b&gt;Hi.&lt;/b&gt;" in page
    file = f"{reverse('admin:agents_skill_file', args=[skill.pk])}?path=a/b"
    assert file in page
    assert "&lt;i&gt;1&lt;/i&gt;" in text_of(editor.get(file))
    [entry] = AuditEntry.objects.filter(workspace=workspace, action__startswith="skill.")
    assert (entry.action, entry.via, entry.label) == ("skill.add", "admin", "greeting")


def test_a_file_that_is_no_text_is_downloaded(editor: Client, workspace: Workspace) -> None:
    skill = save_skill(workspace, skill_folder(a=b"\xff"), by=SYSTEM).version.skill
    place = reverse("admin:agents_skill_file", args=[skill.pk])
    answer = editor.get(f"{place}?path=a")
    assert answer.content == b"\xff"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert editor.get(f"{place}?path=b").status_code == 404


def test_what_is_wrong_with_an_archive_is_said_at_its_field(
    editor: Client, workspace: Workspace
) -> None:
    page = text_of(added(editor, workspace, {"SKILL.md": b"---\nname: A\n---\n"}))
    assert "SKILL.md: name is &quot;A&quot;; use lower-case letters" in page
    assert "SKILL.md: description is missing." in page
    assert "Choose the packed folder" in text_of(editor.post(ADD, {"workspace": workspace.pk}))
    assert not Skill.objects.filter(workspace=workspace).exists()


def test_a_new_version_is_uploaded_on_the_page_compared_and_rolled_back(
    editor: Client, workspace: Workspace
) -> None:
    skill = save_skill(workspace, skill_folder(), by=SYSTEM).version.skill
    newer = upload(skill_files(body="Hi.", more="license: MIT\n", notes=b"1"))
    sent = filled_undrawn(editor, page_of(skill)) | {"archive": newer}
    shown = text_of(editor.post(page_of(skill), sent, follow=True))
    assert "greeting is v2 now." in shown
    compare = reverse("admin:agents_skill_compare", args=[skill.pk, 1])
    page = text_of(editor.get(compare))
    for line in ("-Hi.", "+Say hello.", "license", "notes, removed", "Roll back to v1"):
        assert line in page
    done = text_of(editor.post(compare, follow=True))
    assert "Rolled back: greeting is v1 now." in done
    skill.refresh_from_db()
    assert skill.current_version is not None
    assert skill.current_version.number == 1
    assert editor.get(reverse("admin:agents_skill_compare", args=[skill.pk, 7])).status_code == 404


def test_an_upload_on_the_page_of_another_skill_is_refused(
    editor: Client, workspace: Workspace
) -> None:
    skill = save_skill(workspace, skill_folder(), by=SYSTEM).version.skill
    sent = filled_undrawn(editor, page_of(skill)) | {"archive": upload(skill_files("other"))}
    assert "name is other, and this is the skill greeting" in text_of(
        editor.post(page_of(skill), sent)
    )
    assert Skill.objects.filter(workspace=workspace).count() == 1


def test_an_agent_is_given_a_skill_and_the_skills_page_names_it(
    editor: Client, workspace: Workspace
) -> None:
    skill = save_skill(workspace, skill_folder(), by=SYSTEM).version.skill
    row = Agent.objects.get(workspace=workspace, name="writer")
    page = reverse("admin:agents_agent_change", args=[row.pk])
    shown = editor.get(page)
    assert "Greets people. Use it when somebody arrives." in text_of(shown)
    assert editor.post(page, filled(shown) | {"skills": ["greeting"]}).status_code == 302
    row.refresh_from_db()
    assert row.skills == ["greeting"]
    assert "writer" in text_of(editor.get(page_of(skill)))
    kept = text_of(editor.post(deletion_of(skill), {"post": "yes"}, follow=True))
    assert "greeting is a skill of writer: take it from them first." in kept
    assert editor.post(page, filled_undrawn(editor, page) | {"skills": []}).status_code == 302
    assert editor.post(deletion_of(skill), {"post": "yes"}).status_code == 302
    assert not Skill.objects.filter(workspace=workspace).exists()


def test_a_skill_whose_tools_are_missing_is_refused_at_the_field(
    editor: Client, workspace: Workspace
) -> None:
    record_shipped_skills()
    row = Agent.objects.get(workspace=workspace, name="writer")
    page = reverse("admin:agents_agent_change", args=[row.pk])
    answer = editor.post(page, filled_undrawn(editor, page) | {"skills": ["research"]})
    assert "needs the tools web_search and web_fetch: give the agent that too" in text_of(answer)
    assert "skills" in answer.context["adminform"].form.errors


def test_a_shipped_skill_can_be_looked_at_and_no_more(editor: Client, workspace: Workspace) -> None:
    record_shipped_skills()
    skill = Skill.objects.get(workspace=None, name="writing")
    page = text_of(editor.get(page_of(skill)))
    assert "Settle four things" in page
    assert "New version" not in page
    upload_anyway = editor.post(page_of(skill), {"archive": upload(skill_files("writing"))})
    assert upload_anyway.status_code == 403
    assert editor.post(deletion_of(skill), {"post": "yes"}).status_code == 403
    rollback = reverse("admin:agents_skill_compare", args=[skill.pk, 1])
    assert editor.get(rollback).status_code == 200
    assert editor.post(rollback).status_code == 403


def test_a_viewer_of_another_workspace_sees_no_skill_of_this_one(
    workspace: Workspace,
) -> None:
    skill = save_skill(workspace, skill_folder(), by=SYSTEM).version.skill
    other = Workspace.objects.create(slug="other-of-skills", name="Other")
    stranger = entered(other, Role.EDITOR)
    assert "greeting" not in text_of(stranger.get("/admin/agents/skill/"))
    for page in (
        page_of(skill),
        f"{reverse('admin:agents_skill_file', args=[skill.pk])}?path=SKILL.md",
        reverse("admin:agents_skill_compare", args=[skill.pk, 1]),
    ):
        assert stranger.get(page).status_code in (302, 404)


def test_agents_of_other_workspaces_are_not_named_on_a_shipped_skill(
    editor: Client, workspace: Workspace
) -> None:
    record_shipped_skills()
    other = Workspace.objects.create(slug="other-of-skills", name="Other")
    for place, name in ((workspace, "columnist"), (other, "ghostwriter")):
        Agent.objects.create(workspace=place, name=name, skills=["writing"])
    skill = Skill.objects.get(workspace=None, name="writing")
    for page in (page_of(skill), "/admin/agents/skill/"):
        shown = text_of(editor.get(page))
        assert "columnist" in shown
        assert "ghostwriter" not in shown


def test_the_form_of_an_agent_describes_a_replaced_skill_as_the_workspace_does(
    editor: Client, workspace: Workspace
) -> None:
    record_shipped_skills()
    save_skill(workspace, skill_folder("writing", "Writes as we do."), by=SYSTEM)
    row = Agent.objects.get(workspace=workspace, name="writer")
    known = reverse("admin:agents_agent_change", args=[row.pk])
    for page in (known, reverse("admin:agents_agent_add")):
        shown = text_of(editor.get(page))
        assert "Writes as we do." in shown
        assert "Plans, drafts and edits texts" not in shown  # the shipped one's
