"""Decide from a chat app: an account's click is a decision of its member, as in the inbox."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from agents.actions.ask_in_chat import access_of, look_soon
from agents.actions.chat_apps import UNLINKED, link_account, with_adapter
from agents.actions.decide_call import decide_call
from agents.actions.waits import answer_wait
from agents.chat_apps.adapter import ChatAdapter, ChatCommand, ChatError, Click, Event
from agents.chat_apps.card import Button, Card, call_of, card_of
from agents.chat_apps.services import adapter_of
from agents.choices import Verdict
from agents.errors import CallClosedError
from agents.journal.waits import APPROVAL, QUESTION
from agents.models import ChatAccount, ChatApp, Wait
from agents.reads.questions import question_of
from heartbit_site.base import aio
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import HeartbitError
from tools.calls.questions import FORM, read_answer

logger = logging.getLogger(__name__)

#: Surface of decisions in chat apps, in the journal and the audit.
VIA: Final = "chat"
#: Slack waits three seconds for an answer.
_ANSWER_SECONDS: Final = 2.0
_SEEN_ELSEWHERE: Final = "It is not what was shown: look at it again in Heartbit."
_COUNTS: Final = "Your approval counts. The call needs more people who approve it."
_VERDICTS: Final = {
    "approve": Verdict.APPROVED,
    "deny": Verdict.DENIED,
    "answer": Verdict.ANSWERED,
    "decline": Verdict.DENIED,
}


def receive_request(
    app: ChatApp, headers: Mapping[str, str], body: bytes, now: datetime
) -> dict[str, Any]:
    """Act on a service's signed request; return the body that answers it.

    Raises:
        InvalidSignatureError: It is not signed with the app's secret, or is too old.
    """
    return receive_event(app, adapter_of(app).read(headers, body, now))


def receive_event(app: ChatApp, event: Event) -> dict[str, Any]:
    """Act on an event of a chat app; return the body that answers its request.

    What is received twice does nothing twice: a wait ends once, and a code links once.
    """
    adapter = adapter_of(app)
    if isinstance(event, ChatCommand):
        return adapter.reply(event, link_account(app, event), is_refusal=False) or {}
    if not isinstance(event, Click):
        return {}
    try:
        by = _member(app, event)
        wait, card, button = _found(app, event)
        if button.prompt and event.text is None:
            _with_service(app, lambda service: service.ask(event, button))
            return {}
        _decide(event, wait, card, by=by)
    except HeartbitError as error:
        return _told(app, adapter, event, str(error), is_refusal=True)
    look_soon()
    wait.refresh_from_db(fields=["resolved_at"])
    said = _COUNTS if wait.resolved_at is None else ""
    return _told(app, adapter, event, said, is_refusal=False)


def _member(app: ChatApp, click: Click) -> Actor:
    """Return the member that an account is linked to.

    Raises:
        CallClosedError: There is none, or the member has left the workspace.
    """
    accounts = ChatAccount.objects.select_related("user")
    account = accounts.filter(app=app, external_id=click.account).exclude(external_id="").first()
    access = access_of(account, app) if account is not None else None
    if access is None:
        raise CallClosedError(UNLINKED)
    return Actor(access.name, VIA, access.user_id, access)


def _found(app: ChatApp, click: Click) -> tuple[Wait, Card, Button]:
    """Return the wait of a click, its card as it is now, and the button.

    Raises:
        CallClosedError: The wait has ended, or is not what was shown.
    """
    rows = Wait.objects.select_related("run__workspace", "run__root")
    wait = rows.filter(pk=click.wait_id, run__workspace=app.workspace_id).first()
    if wait is None:
        raise CallClosedError("The run of this message is deleted: nothing can be decided.")
    card = card_of(wait)
    if card.closed:
        look_soon()  # a message that a crash kept from being noted is updated by nothing else
        _with_service(app, lambda service: service.update(click.place, click.message, card))
        raise CallClosedError(card.closed)
    button = card.button(click.verb)
    if card.digest != click.digest or button is None:
        raise CallClosedError(_SEEN_ELSEWHERE)
    return wait, card, button


def _decide(click: Click, wait: Wait, card: Card, *, by: Actor) -> None:
    """Decide as the account's member.

    Raises:
        HeartbitError: The decision is refused.
    """
    text = click.text or ""
    call = call_of(wait)
    if wait.kind != APPROVAL.name or call is None:
        answer_wait(wait, _answer(wait, click.verb, text), by=by)
        return
    shown = (call.approval_view or {}).get("arguments", {})
    verdict = _VERDICTS[click.verb]
    answer = read_answer(shown, text) if verdict is Verdict.ANSWERED else None
    decide_call(call, verdict, digest=card.digest, by=by, answer=answer, reason=text)


def _answer(wait: Wait, verb: str, text: str) -> Any:
    """Return the answer to a wait that is no call to decide."""
    if wait.kind != QUESTION.name:  # a review, or a budget
        return {"decision": verb} | ({"message": text} if text else {})
    return None if verb == "decline" else read_answer({FORM: question_of(wait).form}, text)


def _told(
    app: ChatApp, adapter: ChatAdapter, click: Click, text: str, *, is_refusal: bool
) -> dict[str, Any]:
    """Return the answer to a click's request, or tell its account why nothing was decided."""
    answer = adapter.reply(click, text, is_refusal=is_refusal)
    if answer is None and text:
        _with_service(app, lambda service: service.tell(click.place, click.account, text))
    return answer or {}


def _with_service(app: ChatApp, use: Any) -> None:
    """Use the service; a failure is logged, because what was decided is decided."""
    try:
        aio.run(with_adapter(app, use, seconds=_ANSWER_SECONDS))
    except ChatError as error:
        logger.info("chat app %s was not told: %s", app.pk, error)
