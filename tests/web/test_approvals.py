"""Approvals over the web: what a card says, times that run out, several people, links in mails."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import expect

from agents.actions.decide_call import approve_call, deny_call, edit_call
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.waits import notify_approvers
from agents.admin.prompts import build_prompt
from agents.approvals.call_display import display_call, token_of
from agents.errors import CallClosedError
from agents.models import Agent, Decision, Run, ToolBinding, ToolCall, Vote, Wait
from heartbit_site.base.audit import Actor, verify
from heartbit_site.base.models import AuditEntry, Membership
from heartbit_site.contract.approvals import ApprovalOut
from tests.clients import Client
from tests.doubtful import in_doubt
from tests.web import labels
from tests.web.asked import address, asked_of, row_of
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.core.mail import EmailMessage
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker
    from tests.web.visitor import Visitor

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


def careful(workspace: Workspace, *, seconds: int | None = None, **binding: Any) -> Agent:
    """A published agent that asks before it calculates."""
    row = Agent.objects.create(
        workspace=workspace,
        name="solo",
        system_prompt="Be brief.",
        approval="always",
        approval_timeout_seconds=seconds,
    )
    ToolBinding.objects.create(agent=row, tool="calculate", **binding)
    publish_agent(row)
    return row


class TestWhatACardSays:
    def test_given_a_waiting_call_when_listed_then_it_has_all_that_a_card_shows(
        self, caller: Caller, worker: Worker, workspace: Workspace
    ) -> None:
        careful(workspace, seconds=600)
        asked = asked_of(caller, SUM)
        assert asked["expires_at"] > asked["waiting_since"]
        assert asked["parameters"]["required"] == ["expression"]
        assert (asked["required_approvals"], asked["approved_by"], asked["approver_group"]) == (
            1,
            [],
            "",
        )
        seen = asked["view"]
        assert seen["tool"] == [{"text": "calculate", "escaped": False}]
        assert [one["kind"] for one in seen["arguments"]] == ["text"]
        assert (seen["hidden_character_count"], seen["is_javascript_safe"], seen["hosts"]) == (
            0,
            True,
            [],
        )

    def test_given_a_text_that_hides_something_when_viewed_then_every_hidden_character_is_an_escape(
        self,
    ) -> None:
        call = ToolCall(tool="save", effect="at_most_once", approval_view={"tool": "save"})
        hostile = "a\u202eexe.txt \u200b \x1b[31m\u2066"
        seen = display_call(call, {"name\u200d": hostile, "n": 2**60}, "why\u202e")
        pieces = [*seen.arguments[0].name, *seen.arguments[0].value, *seen.reason]
        escaped = [piece.text for piece in pieces if piece.escaped]
        assert escaped == ["\\u200d", "\\u202e", "\\u200b", "\\u001b", "\\u2066", "\\u202e"]
        assert all(piece.text.isprintable() for piece in pieces)
        assert (seen.hidden_character_count, seen.is_javascript_safe) == (5, False)

    @pytest.mark.parametrize(
        ("address", "host"),
        [
            ("https://аррӏе.com/pay", "xn--80ak6aa92e.com"),  # noqa: RUF001  Cyrillic on purpose
            ("see http://user@evil.example:8080/ok.example/", "evil.example:8080"),
            ("https://bücher.example", "xn--bcher-kva.example"),
            ("http://[::1]/", "::1"),
        ],
    )
    def test_given_an_address_when_viewed_then_the_host_it_leads_to_is_spelt_out(
        self, address: str, host: str
    ) -> None:
        call = ToolCall(tool="http_get", effect="idempotent", approval_view={"tool": "http_get"})
        seen = display_call(call, {"deep": [{"url": address}]}, "")
        assert [(one.argument, one.host) for one in seen.hosts] == [("deep", host)]


class TestExpiry:
    def test_given_a_time_limit_when_nobody_decides_then_the_call_is_refused_and_the_model_goes_on(
        self, caller: Caller, worker: Worker, workspace: Workspace
    ) -> None:
        careful(workspace, seconds=600, approval_timeout_seconds=1)
        asked = asked_of(caller, SUM)
        ended = caller.ended(asked["run_id"])
        assert ended["result"]["text"] == "Done."
        call = row_of(asked)
        assert (call.status, call.result) == (
            "refused",
            "Nobody decided in time. The call was not run.",
        )
        decision = Decision.objects.get(run_id=asked["run_id"])
        assert (decision.verdict, decision.decided_by, decision.via) == (
            "denied",
            "expiry",
            "expiry",
        )
        entry = AuditEntry.objects.get(workspace=workspace, action="approval.expire")
        assert (entry.via, entry.target) == ("system", f"run:{asked['run_id']}")
        late = caller.post(address(asked), {"digest": asked["digest"], "verdict": "approve"})
        assert late.status_code == 409
        assert late.json()["detail"] == "Nobody decided in time: the call is refused."
        assert not [one for one in verify() if one.workspace_id == workspace.pk]


class TestSeveralPeople:
    @pytest.fixture
    def treasurers(self, workspace: Workspace) -> list[User]:
        group = Group.objects.create(name=f"treasurers-{workspace.slug}")
        people = [member(workspace, "operator") for _ in range(2)]
        group.user_set.add(*people)
        return people

    def test_given_two_are_needed_when_two_members_of_the_group_approve_then_it_runs(
        self, caller: Caller, worker: Worker, workspace: Workspace, treasurers: list[User]
    ) -> None:
        group = f"treasurers-{workspace.slug}"
        careful(workspace, required_approvals=2, approver_group=group)
        asked = asked_of(caller, SUM)
        assert (asked["required_approvals"], asked["approver_group"]) == (2, group)
        call, digest = row_of(asked), asked["digest"]
        first, second = (Actor(one.username, "web", one.pk) for one in treasurers)

        stranger = member(workspace, "admin")
        with pytest.raises(CallClosedError, match=f"group {group} may decide this call: ask one"):
            approve_call(call, digest=digest, by=Actor("x", "web", stranger.pk))
        with pytest.raises(CallClosedError, match="use a key of one"):
            deny_call(call, digest=digest, by=Actor("x", "web"), reason="")
        with pytest.raises(CallClosedError, match="needs 2 people"):
            edit_call(call, digest=digest, by=first, arguments='{"expression": "1"}')
        approve_call(call, digest=digest, by=first)
        with pytest.raises(CallClosedError, match="You have approved the call already"):
            approve_call(call, digest=digest, by=first)
        [again] = caller.get("/approvals").json()["calls"]
        assert again["approved_by"] == [first.name]
        assert not Decision.objects.filter(run_id=asked["run_id"]).exists()

        approve_call(call, digest=digest, by=second)
        caller.ended(asked["run_id"])
        assert row_of(asked).result == "42"
        assert Vote.objects.filter(run_id=asked["run_id"]).count() == 2
        actions = AuditEntry.objects.filter(target=f"run:{asked['run_id']}").values_list(
            "actor", flat=True
        )
        assert set(actions) == {first.name, second.name}

    def test_given_keys_then_those_of_one_person_and_those_of_nobody_are_one_vote_each(
        self, workspace: Workspace
    ) -> None:
        call = unserved(workspace)
        call.approval_view = {**(call.approval_view or {}), "needed": 3}
        call.save(update_fields=["approval_view"])
        person = member(workspace, "operator")

        def approve(name: str, user: User | None = None, via: Any = "api") -> None:
            by = Actor(name, via, user.pk if user is not None else None)
            approve_call(call, digest=call.digest, by=by)

        approve("API key one of ann", person)
        with pytest.raises(CallClosedError, match="You have approved the call already"):
            approve("API key two of ann", person)
        approve("API key three")
        for again in ("API key three", "API key four"):
            with pytest.raises(CallClosedError, match=r"counts already|the call already"):
                approve(again)
        with pytest.raises(CallClosedError, match="counts already"):
            approve("root", via="terminal")
        assert not Decision.objects.filter(run=call.run).exists()
        approve("bob", member(workspace, "operator"), "web")
        assert Decision.objects.get(run=call.run).verdict == "approved"

        call = unserved(workspace)
        call.approval_view = {**(call.approval_view or {}), "needed": 3}
        call.save(update_fields=["approval_view"])
        approve("root", via="terminal")
        with pytest.raises(CallClosedError, match="counts already"):
            approve("API key three")

    def test_given_no_keys_then_each_name_at_a_terminal_is_a_vote(
        self, workspace: Workspace
    ) -> None:
        call = unserved(workspace)
        call.approval_view = {**(call.approval_view or {}), "needed": 2}
        call.save(update_fields=["approval_view"])
        for name in ("ann", "bob"):
            approve_call(call, digest=call.digest, by=Actor(name, "terminal"))
        assert Decision.objects.get(run=call.run).verdict == "approved"

    def test_given_two_are_needed_when_one_denies_then_it_is_denied(
        self, caller: Caller, worker: Worker, workspace: Workspace
    ) -> None:
        careful(workspace, required_approvals=2)
        asked = asked_of(caller, SUM)
        answer = caller.post(address(asked), {"digest": asked["digest"], "verdict": "approve"})
        assert (answer.status_code, answer.json()["remaining_approvals"]) == (200, 1)
        deny_call(row_of(asked), digest=asked["digest"], by=Actor("bob", "web"), reason="No.")
        caller.ended(asked["run_id"])
        assert row_of(asked).status == "refused"


class TestLinks:
    @pytest.fixture
    def person(self, workspace: Workspace) -> User:
        user = member(workspace, "operator")
        user.email = f"{user.username}@example.org"
        user.save()
        return user

    @pytest.fixture
    def browser_of_nobody(self) -> Client:
        """Somebody who is not logged in, with the token checks of a browser."""
        return Client(headers={"host": "127.0.0.1"})

    def test_given_a_waiting_call_when_announced_then_each_decider_gets_a_link_of_their_own(
        self, workspace: Workspace, person: User, mailoutbox: list[EmailMessage]
    ) -> None:
        viewer = member(workspace, "viewer")
        viewer.email = "viewer@example.org"
        viewer.save()
        member(workspace, "admin")  # has no address
        call = unserved(workspace)
        assert notify_approvers(call.run_id) == 1
        [mail] = mailoutbox
        assert mail.to == [person.email]
        assert token_of(call, person.pk).partition(":")[0] in mail.body
        assert "https://example.org" not in mail.subject

    def test_a_mail_names_reason_tool_task_starter_and_deadline_once(
        self, workspace: Workspace, person: User, mailoutbox: list[EmailMessage]
    ) -> None:
        call = unserved(workspace)
        Run.objects.filter(pk=call.run_id).update(
            task="Refund the\norder \u202e7.", started_by="schedule Monday refunds"
        )
        deadline = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)
        Wait.objects.filter(run=call.run_id).update(expires_at=deadline)
        assert notify_approvers(call.run_id) == 1
        [mail] = mailoutbox
        assert mail.body.startswith(
            "It asks before it uses http_get.\n\n"
            "Tool: http_get\n"
            "Task: Refund the order \\u202e7.\n"
            "Started by: schedule Monday refunds\n"
            "Decide by: 2030-01-02 03:04 UTC\n"
        )
        assert mail.body.count("asks") == 1

    def test_given_a_link_when_looked_at_then_nothing_is_decided_and_posting_decides_once(
        self, workspace: Workspace, person: User, browser_of_nobody: Client
    ) -> None:
        call = unserved(workspace)
        link = f"/approve/{token_of(call, person.pk)}/"
        for _ in range(2):
            shown = browser_of_nobody.get(link)
            assert shown.status_code == 200
        text = shown.content.decode()
        assert "https://example.org/" in text
        assert "script-src 'self'" in shown["Content-Security-Policy"]
        assert "no-store" in shown["Cache-Control"]
        assert not Decision.objects.filter(run=call.run).exists()

        unsure = browser_of_nobody.post(link, {"verdict": "maybe"})
        assert unsure.status_code == 409
        assert not Decision.objects.filter(run=call.run).exists()
        assert browser_of_nobody.post(link, {"verdict": "approve"}).status_code == 200
        decision = Decision.objects.get(run=call.run)
        assert (decision.verdict, decision.user_id, decision.via) == (
            "approved",
            person.pk,
            "email",
        )
        entry = AuditEntry.objects.get(target=f"run:{call.run_id}")
        assert (entry.via, entry.action, entry.user_id) == ("email", "approval.approve", person.pk)

        again = browser_of_nobody.post(link, {"verdict": "deny"})
        assert again.status_code == 409
        assert f"already approved by {person.username}" in again.content.decode()
        late = browser_of_nobody.get(link)
        assert late.status_code == 409
        assert f"already approved by {person.username} on 20" in late.content.decode()

    def test_given_a_link_without_the_forms_token_when_posted_then_nothing_is_decided(
        self, workspace: Workspace, person: User
    ) -> None:
        call = unserved(workspace)
        strict = Client(enforce_csrf_checks=True, headers={"host": "127.0.0.1"})
        link = f"/approve/{token_of(call, person.pk)}/"
        assert strict.post(link, {"verdict": "approve"}).status_code == 403
        assert not Decision.objects.filter(run=call.run).exists()

    @pytest.mark.parametrize(
        "why", ["left", "viewer", "inactive", "deleted", "old", "forged", "gone", "other call"]
    )
    def test_given_a_link_that_is_not_good_when_posted_then_nothing_is_decided(
        self,
        workspace: Workspace,
        person: User,
        browser_of_nobody: Client,
        settings: Settings,
        why: str,
    ) -> None:
        call = unserved(workspace)
        token = token_of(call, person.pk)
        match why:
            case "left":
                Membership.objects.filter(user=person).delete()
            case "viewer":
                Membership.objects.filter(user=person).update(role="viewer")
            case "inactive":
                person.is_active = False
                person.save()
            case "deleted":
                type(person).objects.filter(pk=person.pk).delete()
            case "old":
                settings.HEARTBIT_APPROVAL_LINK_HOURS = -1
            case "forged":
                token = token[:-1] + ("A" if token[-1] != "A" else "B")
            case "gone":
                ToolCall.objects.filter(pk=call.pk).delete()
            case "other call":
                ToolCall.objects.filter(pk=call.pk).update(digest="e" * 64)
        answer = browser_of_nobody.post(f"/approve/{token}/", {"verdict": "approve"})
        assert answer.status_code == 409
        assert not Decision.objects.filter(run=call.run).exists()

    def test_given_a_cancelled_run_when_its_link_is_used_then_nothing_is_decided(
        self, workspace: Workspace, person: User, browser_of_nobody: Client
    ) -> None:
        call = unserved(workspace)
        link = f"/approve/{token_of(call, person.pk)}/"
        cancel_run(workspace, call.run_id, reason="no")
        assert browser_of_nobody.post(link, {"verdict": "approve"}).status_code == 409
        assert not Decision.objects.filter(run=call.run).exists()


def test_given_waiting_calls_when_decided_by_keyboard_then_one_runs_as_edited_and_one_is_denied(
    signed_in: Visitor, caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    first = asked_of(caller, SUM)
    page = signed_in.page
    signed_in.go("inbox/")
    expect(page.get_by_role("article")).to_contain_text("6*7")
    second = asked_of(caller, SUM)  # it appears by itself
    expect(page.get_by_role("navigation", name="What waits").get_by_role("button")).to_have_count(2)

    page.keyboard.press("e")
    field = page.get_by_role("textbox", name="expression")
    expect(field).to_be_focused()
    field.fill("6*8")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name=re.compile("expression"))).to_contain_text("6*76*8")
    expect(page.get_by_role("button", name="Approve with these changes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="What waits").get_by_role("button")).to_have_count(1)
    caller.ended(first["run_id"])
    assert row_of(first).result == "48"

    page.keyboard.press("d")
    page.get_by_label("Why not?").fill("Not today.")
    page.get_by_role("button", name="Deny", exact=True).last.click()
    expect(page.get_by_text(labels.NOTHING_WAITS)).to_be_visible()
    caller.ended(second["run_id"])
    assert "Not today." in (row_of(second).result or "")
    assert {one.via for one in Decision.objects.filter(run__workspace=workspace)} == {"web"}
    assert Run.objects.filter(workspace=workspace, status="succeeded").count() == 2


def test_given_a_call_that_nobody_decides_when_it_is_due_then_the_pages_say_who_is_asked_now(
    signed_in: Visitor, caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    first, then = (f"{name}-{workspace.slug}" for name in ("clerks", "chiefs"))
    Group.objects.bulk_create([Group(name=first), Group(name=then)])
    careful(workspace, approver_group=first, escalate_after_minutes=5, escalation_group=then)
    asked = asked_of(caller, SUM)
    assert asked["escalated"] is None
    Wait.objects.filter(run=asked["run_id"]).update(escalates_at="2000-01-01T00:00:00Z")
    signed_in.go(f"runs/{asked['run_id']}/")
    page = signed_in.page
    card = page.get_by_role("article", name="calculate of solo")
    expect(card).to_contain_text(f"Escalated to {then}")
    expect(page.get_by_text(f"in time: escalated to {then}")).to_be_visible()
    signed_in.go("inbox/")
    expect(card).to_contain_text(f"Escalated to {then}")
    expect(card).to_contain_text(f"members of {first} and of {then}")
    [again] = caller.get("/approvals").json()["calls"]
    assert again["escalated"]["group"] == then
    assert again["escalated"]["since"] > again["waiting_since"]


def test_given_a_call_of_unknown_outcome_when_settled_in_the_inbox_then_it_is_left_as_said(
    signed_in: Visitor, workspace: Workspace
) -> None:
    call = in_doubt(workspace)
    signed_in.go("inbox/")
    page = signed_in.page
    expect(page.get_by_role("article")).to_contain_text("Outcome unknown")
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label(labels.OUTCOME).fill("Sent.")
    page.get_by_role("button", name="Confirm").last.click()
    expect(page.get_by_text(labels.NOTHING_WAITS)).to_be_visible()
    decision = Decision.objects.get(run=call.run)
    assert (decision.verdict, decision.reason, decision.via) == ("confirmed", "Sent.", "web")
    entry = AuditEntry.objects.get(target=f"run:{call.run_id}", action="approval.settle")
    assert entry.details["outcome"] == "confirmed"


FORMS: list[tuple[dict[str, Any] | None, dict[str, Any]]] = [
    (None, {"a": [1, {"b": None}]}),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"a": ""}),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x", "not in it": 1}),
    (
        {
            "type": "object",
            "$defs": {"P": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "properties": {
                "people": {"type": "array", "items": {"$ref": "#/$defs/P"}},
                "level": {"enum": ["low", "high"]},
                "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "sure": {"type": "boolean"},
                "free": {"type": "object"},
                "pair": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "required": ["people", "rate"],
        },
        {
            "people": [{"n": 1}, {}],
            "level": "high",
            "rate": None,
            "sure": False,
            "free": {"x": ["y"]},
            "pair": 3,
        },
    ),
]


BOUNDS: list[tuple[dict[str, Any], str | None, str]] = [
    ({"type": "string"}, None, "required"),
    ({"type": "string", "minLength": 3}, "ab", "at least 3"),
    ({"type": "string", "maxLength": 2}, "abc", "at most 2"),
    ({"type": "string", "pattern": "^[a-z]+$"}, "A1", "^[a-z]+$"),
    ({"type": "integer"}, None, "required"),
    ({"type": "integer"}, "1.5", "whole number"),
    ({"type": "integer", "minimum": 1}, "0", "at least 1"),
    ({"type": "number", "exclusiveMaximum": 1}, "1", "below 1"),
    ({"type": "integer", "multipleOf": 5}, "7", "multiple of 5"),
    ({"type": "array", "items": {"type": "string"}, "minItems": 1}, None, "at least 1"),
    ({"type": "object", "required": ["x", "y"]}, '{"x": 1}', "a (JSON) lacks y"),
    ({"type": "object", "required": ["x", "toString"]}, "{}", "a (JSON) lacks x, toString"),
]

BOUNDS_IN_WORDS: list[tuple[dict[str, Any], str]] = [
    ({"minimum": 0}, "At least 0."),
    ({"maximum": 1000}, "At most 1,000."),
    ({"minimum": 1, "maximum": 3}, "From 1 to 3."),
    ({"minimum": 2, "maximum": 2}, "Exactly 2."),
    ({"exclusiveMinimum": 0}, "More than 0."),
    ({"exclusiveMaximum": 1}, "Less than 1."),
    ({"exclusiveMinimum": 0, "maximum": 1}, "More than 0, at most 1."),
    ({"minimum": 0, "exclusiveMaximum": 1}, "At least 0, less than 1."),
    ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "More than 0, less than 1."),
    ({"minimum": 5, "exclusiveMinimum": 0}, "At least 5."),
    ({"minimum": 0, "exclusiveMinimum": 0}, "More than 0."),
    ({"type": "string", "minLength": 2}, "At least 2 characters."),
    ({"type": "array", "minItems": 1, "maxItems": 4}, "From 1 to 4 entries."),
    ({"type": "string", "minLength": 0}, ""),
]


def test_given_bounds_when_a_form_is_read_then_what_breaks_them_is_not_sent(
    signed_in: Visitor,
) -> None:
    signed_in.go("inbox/")
    read = """async ([schema, text]) => {
      const { schemaForm } = await import("/static/heartbit/web/forms/schema-form.js");
      const whole = { type: "object", properties: { a: schema }, required: ["a"] };
      const form = schemaForm(whole, undefined);
      document.body.append(form.element);
      const field = form.element.querySelector("input, textarea");
      if (text !== null) field.value = text;
      try {
        return ["read", JSON.stringify(form.read())];
      } catch (error) {
        return ["refused", error.message];
      }
    }"""
    for schema, text, part in BOUNDS:
        done, said = signed_in.page.evaluate(read, [schema, text])
        assert done == "refused", schema
        assert part in said
    kept = signed_in.page.evaluate(read, [{"type": "integer", "minimum": 1, "maximum": 3}, "3"])
    assert kept == ["read", '{"a":3}']


def test_given_bounds_then_their_words_say_whether_the_bound_itself_is_taken(
    signed_in: Visitor,
) -> None:
    signed_in.go("inbox/")
    words = """async (schemas) => {
      const { boundsText } = await import("/static/heartbit/web/forms/bounds.js");
      return schemas.map((schema) => boundsText(schema));
    }"""
    found = signed_in.page.evaluate(words, [schema for schema, _ in BOUNDS_IN_WORDS])
    assert found == [said for _, said in BOUNDS_IN_WORDS]


def test_given_arguments_in_another_order_then_every_surface_has_that_of_the_schema(
    caller: Caller, workspace: Workspace
) -> None:
    # The database keeps short names first: url, body, json, method.
    given = {"json": None, "body": "x", "url": "https://example.org/", "method": "POST"}
    researcher = Agent.objects.get(workspace=workspace, name="researcher")
    ToolBinding.objects.create(agent=researcher, tool="http_request")
    publish_agent(researcher)
    call = unserved(workspace, tool="http_request", arguments=given)
    order = ["method", "url", "json", "body"]
    [row] = caller.get("/approvals").json()["calls"]
    assert list(row["arguments"]) == order
    assert [one["name"][0]["text"] for one in row["view"]["arguments"]] == order
    admins = build_prompt(call).display
    assert ["".join(piece.text for piece in one.name) for one in admins.arguments] == order
    assert list(ApprovalOut.model_validate(row).arguments) == order


def test_given_any_schema_when_its_form_is_not_touched_then_it_reads_what_stood_in_it(
    signed_in: Visitor,
) -> None:
    signed_in.go("inbox/")
    read = """async ([schema, value]) => {
      const { schemaForm } = await import("/static/heartbit/web/forms/schema-form.js");
      const { diff } = await import("/static/heartbit/web/approvals/diff.js");
      const form = schemaForm(schema, value);
      const fields = form.element.querySelectorAll("input, select, textarea").length;
      return [fields, form.read(), diff(value, form.read())];
    }"""
    found = [signed_in.page.evaluate(read, [schema, value]) for schema, value in FORMS]
    assert [one[1] for one in found] == [value for _, value in FORMS]
    assert all(one[2] == [] for one in found)
    assert [one[0] for one in found] == [1, 1, 1, 1, 7]
