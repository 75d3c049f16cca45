"""Pictures and documents in the chat and in the dialog of a new run, by file, paste and drop."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.models import Agent, Run
from tests.api.test_pictures import drawn, opening

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor

_HAND_OVER = """(place, [kind, code]) => {
  const bytes = Uint8Array.from(atob(code), (one) => one.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], `${kind}.png`, { type: "image/png" }));
  const how = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
  place.dispatchEvent(kind === "paste" ? new ClipboardEvent(kind, how) : new DragEvent(kind, how));
}"""


@pytest.fixture(autouse=True)
def seeing(workspace: Workspace) -> None:
    """Agents whose model sees, and whose runs nobody executes."""
    agents = Agent.objects.filter(workspace=workspace)
    agents.update(model="openai:fake", queue="nobody-serves-this")


def hand_over(place: Locator, kind: str) -> None:
    place.evaluate(_HAND_OVER, [kind, base64.b64encode(drawn()).decode()])


def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    given = [{"name": name, "mimeType": kind, "buffer": data} for name, kind, data in files]
    page.locator("input[type=file]").set_input_files(given)  # type: ignore[arg-type]


def expect_shown(picture: Locator) -> None:
    expect(picture).to_be_visible()
    picture.evaluate("(image) => image.decode()")


def test_a_message_takes_pictures_and_documents_and_shows_them(signed_in: Visitor) -> None:
    page = signed_in.page
    signed_in.go("chat/writer/")
    field = page.get_by_label("Message", exact=True)
    choose(page, ("photo.jpg", "image/jpeg", drawn("JPEG")), ("a.md", "text/markdown", b"# A"))
    hand_over(field, "paste")
    hand_over(field, "drop")
    rows = page.locator("form .files li")
    expect(rows).to_have_count(4)
    expect(rows.locator("img.thumb")).to_have_count(3)
    page.get_by_role("button", name="Leave drop.png out").click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Send").click()
    shown = page.get_by_alt_text("Picture of the message")
    expect(shown).to_have_count(2)
    expect_shown(shown.first)
    expect(page.locator("article .attached")).to_contain_text("a.md")
    expect(rows).to_have_count(0)


def test_what_is_no_picture_is_refused_and_stays_in_the_composer(signed_in: Visitor) -> None:
    signed_in.expected.append("422")
    page = signed_in.page
    signed_in.go("chat/writer/")
    choose(page, ("bad.png", "image/png", b"no picture"))
    page.get_by_role("button", name="Send").click()
    refusal = page.get_by_role("alert").filter(has_text="Picture 1 is no PNG, JPEG, GIF or WebP")
    expect(refusal).to_be_visible()
    expect(page.locator("form .files li")).to_have_count(1)
    choose(page, ("large.csv", "text/csv", b"x" * 10_000_001))
    expect(page.get_by_role("alert").filter(has_text="With large.csv")).to_be_visible()


def test_a_new_run_takes_a_picture_and_its_page_shows_it(
    signed_in: Visitor, workspace: Workspace
) -> None:
    page = signed_in.page
    signed_in.go()
    page.get_by_role("button", name="New run").click()
    dialog = page.get_by_role("dialog", name="New run")
    dialog.get_by_label("Agent").select_option("writer")
    dialog.get_by_label("Task").fill("What is it?")
    choose(page, ("photo.jpg", "image/jpeg", drawn("JPEG")))
    hand_over(dialog.get_by_label("Task"), "paste")
    expect(dialog.locator("img.thumb")).to_have_count(2)
    dialog.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}/"))
    expect_shown(page.get_by_alt_text("Picture 1 of the task"))
    (run,) = Run.objects.filter(workspace=workspace, task="What is it?")
    _, _, name = opening(str(run.pk))["images"][0].rpartition("/")
    sent = page.request.get(f"{signed_in.url}/w/{signed_in.slug}/pictures/{run.pk}/{name}")
    assert sent.headers["content-type"] == "image/jpeg"
    assert sent.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert sent.headers["x-content-type-options"] == "nosniff"
