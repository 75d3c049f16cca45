"""What pictures are taken of: where it is, what is done there first, and what is seen at last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.web.shots import house_rules, parts
from tests.web.shots.plans import REPORT
from tests.web.shots.seed import OFFER
from tests.web.shots.ways_in import MAILBOX

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.web.shots.seed import Demo

ALL = ("light", "dark", "phone")
WIDE = ("light", "dark")
LIGHT = ("light",)
CHANNELS = "/admin/agents/channel/"
SCHEDULES = "/admin/scheduling/schedule/"
TOOLS = "/admin/tools/cataloguetool/"
CREDENTIALS = "/admin/tools/credential/"
AGENTS = "/admin/agents/agent/"
MCP_SERVERS = "/admin/tools/mcpserver/"
SKILLS = "/admin/agents/skill/"
#: A template's name that occurs nowhere else on the page.
A_TEMPLATE = "Weekly report writer"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture in each look.

    Attributes:
        path: The page, below the workspace's or, with a slash first, the server's.
        text: There when the page has been drawn.
        act: What is done then; it ends when the result is drawn.
        looks: The windows in which it is taken.
    """

    path: Callable[[Demo], str]
    text: str
    act: Callable[[Page], None] | None = None
    looks: tuple[str, ...] = ALL


def ask_for_a_run(page: Page) -> None:
    """The dialog *New run*, filled in."""
    page.get_by_role("button", name="New run").click()
    dialog = page.get_by_role("dialog", name="New run")
    dialog.get_by_label("Agent").select_option("support")
    dialog.get_by_label("Task").fill(parts.BENT_WHEEL)
    dialog.get_by_text("Answers customers.").wait_for()


def find(page: Page) -> None:
    """The palette."""
    page.keyboard.press("Control+k")
    page.keyboard.type("sup")
    page.locator("dialog.palette li", has_text="support").first.wait_for()


def look_back(page: Page) -> None:
    """What the model was sent at a turn."""
    turn = page.get_by_label("Turn 1", exact=True)
    turn.get_by_role("button", name="What it was sent").click()
    turn.get_by_text("Longest answer").wait_for()
    turn.scroll_into_view_if_needed()
    turn.evaluate("turn => turn.scrollIntoView()")


def open_the_script(page: Page) -> None:
    """A script with what it printed."""
    call = page.locator("details.call").first
    call.locator("summary").click()
    call.get_by_text("Result", exact=True).wait_for()


def ask_for_a_fork(page: Page) -> None:
    """A turn's changes, beside it."""
    turn = page.get_by_label("Turn 1", exact=True)
    turn.get_by_role("button", name="Fork from here").click()
    turn.get_by_label("Version of support").select_option("2")
    turn.get_by_label("Send it a message").fill("Offer her a bike to ride meanwhile.")
    turn.evaluate("turn => turn.scrollIntoView()")


def try_it(page: Page) -> None:
    """What a waiting call would change in the database."""
    page.get_by_role("navigation", name="What waits").get_by_text("Wren").first.click()
    page.get_by_role("button", name="Try it without keeping it").click()
    outcome = page.get_by_role("region", name="What it would do")
    outcome.get_by_text("shop_reservation").wait_for()
    outcome.scroll_into_view_if_needed()


def try_tool(page: Page) -> None:
    """The form of a tool's arguments."""
    page.get_by_text("Try it").first.click()
    page.locator("#dialog").get_by_label("order").fill("1042")


def answer_it(page: Page) -> None:
    """A question with the form of its answer."""
    page.get_by_role("navigation", name="What waits").get_by_text("Plan next week").click()
    page.get_by_role("button", name="Answer", exact=True).click()
    page.get_by_role("button", name="Send the answer").wait_for()


def be_prompted(page: Page) -> None:
    """Prompts, as if the calls had begun to wait while the page was open."""
    page.locator("#hb-prompts[data-newest]").wait_for(state="attached")
    page.evaluate("sessionStorage.setItem('heartbit-prompts-after', '0')")
    page.reload()
    page.get_by_role("status", name="Calls that wait for you").get_by_role(
        "article"
    ).first.wait_for()
    # Not on the pages after this one.
    page.evaluate("sessionStorage.removeItem('heartbit-prompts-after')")


def upload_a_skill(page: Page) -> None:
    """The form of a new skill, with an archive chosen."""
    page.locator("input[type=file]").set_input_files(
        {"name": "returns.zip", "mimeType": "application/zip", "buffer": house_rules.archive()}
    )


def choose_skills(page: Page) -> None:
    """The part of an agent's form with its skills."""
    page.locator("nav a:not([href])", has_text="Skills").click()
    page.get_by_text("Decides about returned bikes").locator("visible=true").first.wait_for()


PAGES = {
    "web-runs": Shot(lambda _: "runs/", "bent rear wheel"),
    "web-new-run": Shot(lambda _: "runs/", "bent rear wheel", ask_for_a_run),
    "web-palette": Shot(lambda _: "runs/", "bent rear wheel", find, LIGHT),
    "web-run": Shot(lambda demo: f"runs/{demo.run}/", "her choice"),
    "web-turn": Shot(lambda demo: f"runs/{demo.run}/", "her choice", look_back),
    "web-files": Shot(lambda demo: f"runs/{demo.script}/", "of the whole tree"),
    "web-script": Shot(lambda demo: f"runs/{demo.script}/", "of the whole tree", open_the_script),
    "web-fork": Shot(lambda demo: f"runs/{demo.run}/", "her choice", ask_for_a_fork),
    "web-inbox": Shot(lambda _: "inbox/", "refund_order"),
    "web-dry-run": Shot(lambda _: "inbox/", "refund_order", try_it),
    "web-credentials": Shot(lambda _: "credentials/?kind=imap", "Add: Mailbox"),
    "web-connect": Shot(lambda _: "connect/tracker/", "Your own runs call tracker as you."),
    "web-question": Shot(lambda _: "inbox/", "refund_order", answer_it),
    "web-approval-link": Shot(lambda demo: f"/approve/{demo.link}/", "You are"),
    "web-agents": Shot(lambda _: "agents/", "support", looks=LIGHT),
    "web-new-agent": Shot(lambda _: "new-agent/?template=reviewer", "Create and open", looks=LIGHT),
    "web-studio": Shot(lambda _: "agents/support/", "Test the draft", looks=WIDE),
    "web-tool": Shot(lambda _: "agents/cashier/?tool=refund_order", "Who approves", looks=LIGHT),
    "web-chat": Shot(lambda demo: f"chat/support/{demo.talk}/", "10:30"),
    "web-workers": Shot(lambda _: "health/fleet/", "process"),
    "web-health": Shot(lambda _: "health/?range=7d", "Agents and models", looks=WIDE),
    "web-alerts": Shot(lambda _: "health/alerts/", "Add an alert", looks=LIGHT),
    "web-schedules": Shot(lambda _: "schedules/", REPORT, looks=WIDE),
    "web-schedule": Shot(lambda demo: f"schedules/{demo.schedule}/", "Next five", looks=LIGHT),
    "web-passage": Shot(lambda demo: f"passages/{demo.passage}/", "Cited passage"),
    "web-usage": Shot(lambda _: "health/usage/", "Agents this month"),
    "admin-prompt": Shot(lambda _: "/admin/", "who changed what", be_prompted),
    "admin-agents": Shot(lambda _: AGENTS, "support"),
    "admin-agent": Shot(lambda demo: f"{AGENTS}{demo.agent}/change/", "cashier"),
    "admin-agent-skills": Shot(
        lambda demo: f"{AGENTS}{demo.agent}/change/", "cashier", choose_skills
    ),
    "admin-templates": Shot(lambda _: f"{AGENTS}add_from_template/", A_TEMPLATE),
    "admin-version": Shot(
        lambda demo: f"/admin/agents/agentversion/{demo.version}/compare/", OFFER
    ),
    "admin-runs": Shot(lambda _: "/admin/agents/run/", "support"),
    "admin-waiting": Shot(lambda _: "/admin/agents/toolcall/", "refund_order"),
    "admin-accounts": Shot(lambda _: "/admin/base/provideraccount/", "anthropic"),
    "admin-tools": Shot(lambda _: TOOLS, "find_order", looks=LIGHT),
    "admin-tool": Shot(lambda demo: f"{TOOLS}{demo.tool}/change/", "find_order", looks=LIGHT),
    "admin-tool-form": Shot(
        lambda demo: f"{TOOLS}{demo.tool}/change/", "find_order", try_tool, ("light", "dark")
    ),
    "admin-credentials": Shot(lambda _: CREDENTIALS, "support mailbox", looks=LIGHT),
    "admin-credential": Shot(
        lambda _: f"{CREDENTIALS}add/?kind=imap", "Mailbox (IMAP)", looks=LIGHT
    ),
    "admin-credential-types": Shot(
        lambda _: f"{CREDENTIALS}add/", "Calendar (CalDAV)", looks=LIGHT
    ),
    "admin-knowledge": Shot(lambda _: "/admin/memory/knowledgebase/", "handbook"),
    "admin-documents": Shot(lambda _: "/admin/memory/document/", "repairs.md"),
    "admin-audit": Shot(lambda _: "/admin/base/auditentry/", "api_key.create"),
    "admin-webhooks": Shot(lambda _: "/admin/agents/webhookendpoint/", "ticket system"),
    "admin-schedules": Shot(lambda _: SCHEDULES, REPORT),
    "admin-schedule": Shot(lambda demo: f"{SCHEDULES}{demo.schedule}/change/", "Europe/Berlin"),
    "admin-channels": Shot(lambda _: CHANNELS, MAILBOX),
    "admin-channel": Shot(lambda demo: f"{CHANNELS}{demo.channel}/change/", "Allowed senders"),
    "admin-mcp-servers": Shot(lambda _: MCP_SERVERS, "1 changed"),
    "admin-mcp-server": Shot(
        lambda demo: f"{MCP_SERVERS}{demo.server}/change/", "parts_order_part"
    ),
    "admin-skills": Shot(lambda _: SKILLS, "sales-assistant"),
    "admin-skill": Shot(lambda demo: f"{SKILLS}{demo.skill}/change/", "references/rules.md"),
    "admin-skill-compare": Shot(
        lambda demo: f"{SKILLS}{demo.skill}/versions/1/", "Roll back to v1"
    ),
    "admin-skill-add": Shot(
        lambda demo: f"{SKILLS}add/?workspace={demo.workspace.pk}", "Archive", upload_a_skill
    ),
    "admin-came-in": Shot(lambda _: "/admin/agents/inboundmessage/", "Can I try a Wren?"),
    "web-login": Shot(lambda _: "/login/", "Log in", looks=("light",)),  # the last: it logs out
}
