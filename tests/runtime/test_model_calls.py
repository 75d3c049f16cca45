"""How the runtime asks models: again after faults, later when told so, shorter, or another one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import httpx
import pytest

from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.start_conversation import start_conversation
from agents.choices import Placement, RunStatus
from agents.context.tokens import estimate_all
from agents.journal.events import ContextSummarized, ModelAnswered, ModelDelayed
from agents.live.follow import follow, wait_for_end
from agents.live.pubsub import START
from agents.live.updates import EventUpdate
from agents.live.view_parts import Writing
from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.bridge.known import KNOWN
from agents.llm.errors import RateLimitedError, ThrottledError
from agents.llm.messages import AssistantMessage, ChatRequest, Completion, UserMessage
from agents.llm.wrappers.limit import LimitedModel, LocalLimiter
from agents.llm.wrappers.limit import Limits as AccountLimits
from agents.llm.wrappers.retry import RetryPolicy
from agents.models import Agent, Run, RunEvent
from agents.runs.live_entries import Delta
from agents.runtime.execution import host as host_module
from agents.runtime.execution.host import LocalHost
from agents.runtime.providers.accounts import Account
from agents.runtime.providers.models import Models
from heartbit_site.base import orm
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount, UsageEntry
from tests.runtime.conftest import Studio
from tests.starts import post_message

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

Create = Callable[..., Agent]


def kinds(events: list[RunEvent]) -> list[str]:
    return [event.type for event in events]


async def test_a_fault_that_passes_is_not_seen_in_the_journal(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(retry_base_delay_ms=1))
    run = await studio.run("[[error: 503 times=2]] [[text: At last.]] [[run: passing]]")
    assert run.output == "At last."
    assert kinds(await studio.events(run)).count("model.answered") == 1


async def test_text_that_a_cut_stream_had_brought_is_not_kept(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(retry_base_delay_ms=1))
    run = await studio.run("[[cut: 700 times=1]] [[text: Whole at last.]] [[run: cut-once]]")
    assert run.output == "Whole at last."


async def test_readers_see_the_last_attempt_s_text_alone(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(retry_base_delay_ms=1))
    run = await studio.run("[[cut: 1200 times=1]] [[tokens: 40]] [[chunks: 20]] [[run: cut-seen]]")
    streamed = await studio.host.window.read({run.pk: START}, timeout=5)
    deltas = [entry for _, _, entry in streamed if isinstance(entry, Delta)]
    writing = Writing()
    for delta in deltas:
        writing.add(delta)
    assert len({delta.attempt for delta in deltas}) == 2, "some text came before the cut"
    assert writing.text == run.output


async def test_retries_end(studio: Studio, agent: Create, wire_server: WireServer) -> None:
    await orm.run_in_thread(lambda: agent(max_retries=2, retry_base_delay_ms=1))
    before = wire_server.stats()["requests"]
    run = await studio.run("[[error: 500]] [[text: Never.]]")
    assert (run.status, (run.error or {})["kind"]) == (RunStatus.FAILED, "model")
    assert wire_server.stats()["requests"] - before == 3


async def test_a_long_pause_is_not_waited_for_once_the_retries_are_used_up(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(max_retries=0))
    run = await studio.run("[[error: 503 retry_after=300]] [[text: Never.]]")
    assert (run.status, (run.error or {})["kind"]) == (RunStatus.FAILED, "model")
    assert "model.delayed" not in kinds(await studio.events(run))


async def test_a_pause_that_is_held_does_not_suspend_a_run_that_lacks_the_time_for_it(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(timeout_seconds=5))
    held = RetryPolicy().hold_seconds
    run = await studio.run(f"[[error: 503 retry_after={held:g}]] [[text: Never.]]")
    assert (run.status, (run.error or {})["kind"]) == (RunStatus.FAILED, "model")
    assert "model.delayed" not in kinds(await studio.events(run))


async def test_a_long_pause_counts_the_attempts_that_came_before_it(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(max_retries=5, retry_base_delay_ms=1))
    run_id = await studio.start("[[error: 503 retry_after=300 after=2]] [[run: third]]")
    async for update in follow(run_id, studio.host.window):
        if isinstance(update, EventUpdate) and isinstance(update.recorded.event, ModelDelayed):
            assert update.recorded.event.attempts == 3
            break
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="seen"))


async def test_the_next_model_answers_when_the_first_fails(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(
        lambda: agent(max_retries=0, fallback_models=["openai:second"], model="ollama:none")
    )
    run = await studio.run("[[text: Here.]]", model="")
    assert run.output == "Here."
    answered = next(e for e in await studio.events(run) if e.type == "model.answered")
    assert answered.payload["model"] == "openai:second"
    usage = await orm.run_in_thread(lambda: UsageEntry.objects.get(run_id=run.pk))
    assert usage.model == "openai:second", "the ledger names who was paid"


async def test_a_fallback_without_a_key_is_left_out(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    fallbacks = ["anthropic:claude-x", "openai:second"]
    await orm.run_in_thread(
        lambda: agent(max_retries=0, fallback_models=fallbacks, model="openai:first")
    )
    run = await studio.run("[[text: Here.]]", model="")
    assert run.output == "Here."
    await orm.run_in_thread(
        lambda: agent("other", max_retries=0, fallback_models=fallbacks, model="ollama:none")
    )
    run = await studio.run("[[text: There.]]", agent="other", model="")
    assert run.output == "There.", "the next one after it is asked"


async def test_a_provider_that_asks_for_a_year_is_asked_again_after_an_hour() -> None:
    now, year = 0.0, 31_536_000.0
    limiter = LocalLimiter(clock=lambda: now)
    busy = RateLimitedError("Come back next year.", retry_after=year)
    scripted = ScriptedModel([Reply(error=busy), "Here."])
    model = LimitedModel(scripted, limiter, "acme", AccountLimits())
    request = ChatRequest("", (UserMessage("Hello."),))
    for expected in (RateLimitedError, ThrottledError):
        with pytest.raises(expected):
            [event async for event in model.stream(request)]
    now = 3_601.0
    *_, last = [event async for event in model.stream(request)]
    assert isinstance(last, Completion)
    assert last.message.text == "Here."


async def talk(
    studio: Studio, create: Create, strategy: dict[str, object]
) -> Callable[[str], Coroutine[object, object, Run]]:
    """Begin a conversation with an agent that calculates; returns a voice on it."""
    await orm.run_in_thread(lambda: create(context_strategy=strategy, tools=("calculate",)))
    thread = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))

    async def say(text: str) -> Run:
        posted = await orm.run_in_thread(
            lambda: post_message(thread, text, model="openai:fake", home=Placement.LOCAL)
        )
        studio.host.execute(posted.run_id)
        return await wait_for_end(posted.run_id, studio.host.window)

    return say


@pytest.mark.parametrize(
    "strategy",
    [
        {"type": "sliding_window", "max_tokens": 1},
        {"type": "last_messages", "count": 1},
        {"type": "important_recent", "max_tokens": 1, "recent": 1},
    ],
)
async def test_what_is_asked_now_is_sent_however_little_else_is(
    studio: Studio, agent: Create, strategy: dict[str, object]
) -> None:
    say = await talk(studio, agent, strategy)
    assert (await say("[[text: Old.]]")).output == "Old."
    run = await say('[[calls: calculate {"expression": "1"}]] [[text: New.]]')
    assert run.output == "New.", "the model obeys the last words of a person that it is sent"


async def test_a_summary_does_not_swallow_what_is_asked_now(studio: Studio, agent: Create) -> None:
    first, sum_ = "[[tokens: 300]]", "1" + "+1" * 700
    task = f'[[calls: calculate {{"expression": "{sum_}"}}]] [[text: New.]]'
    say = await talk(studio, agent, {"type": "unlimited"})
    old = await say(first)
    before = (UserMessage(first), AssistantMessage(old.output or ""), UserMessage(task))

    def shorten() -> None:
        row = Agent.objects.get(workspace=studio.workspace, name="solo")
        threshold = estimate_all(before) + 100  # reached by the call, not by the task
        row.context_strategy = {"type": "summarize", "threshold": threshold, "keep_recent": 1}
        row.save()
        publish_agent(row)

    await orm.run_in_thread(shorten)
    run = await say(task)
    events = await studio.events(run)
    types = kinds(events)
    assert types.index("tool.finished") < types.index(ContextSummarized.type)
    [summarized] = [event for event in events if event.type == ContextSummarized.type]
    assert summarized.payload["upto"] == len(before), "the task is in the part that it replaced"
    assert run.output == "New."


async def test_a_long_conversation_is_summarized_once_and_goes_on(
    studio: Studio, agent: Create
) -> None:
    strategy = {"type": "summarize", "threshold": 700, "keep_recent": 1}
    await orm.run_in_thread(lambda: agent(context_strategy=strategy))
    thread = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))

    async def say(text: str) -> Run:
        posted = await orm.run_in_thread(
            lambda: post_message(thread, text, model="openai:fake", home=Placement.LOCAL)
        )
        studio.host.execute(posted.run_id)
        return await wait_for_end(posted.run_id, studio.host.window)

    for _ in range(4):
        assert (await say("[[tokens: 200]]")).status == RunStatus.SUCCEEDED
    run = await say("[[text: Short.]]")
    assert run.output == "Short."
    events = await studio.events(run)
    [summarized] = [event for event in events if event.type == ContextSummarized.type]
    answered = next(event for event in events if event.type == ModelAnswered.type)
    assert summarized.payload["turn"] == answered.payload["turn"] == 1
    assert answered.payload["usage"]["input_tokens"] < 450, "the model got the summary instead"
    spent = await orm.run_in_thread(lambda: UsageEntry.objects.filter(run_id=run.pk).count())
    assert spent == 2, "it is paid for too"
    assert run.input_tokens > answered.payload["usage"]["input_tokens"]


@pytest.mark.parametrize(
    ("strategy", "least", "most"),
    [
        ({"type": "unlimited"}, 700, 5_000),
        ({"type": "sliding_window", "max_tokens": 300}, 1, 400),
    ],
)
async def test_a_sliding_window_sends_the_first_and_the_newest(
    studio: Studio, agent: Create, strategy: dict[str, object], least: int, most: int
) -> None:
    await orm.run_in_thread(lambda: agent(context_strategy=strategy))
    thread = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))

    async def say(text: str) -> Run:
        posted = await orm.run_in_thread(
            lambda: post_message(thread, text, model="openai:fake", home=Placement.LOCAL)
        )
        studio.host.execute(posted.run_id)
        return await wait_for_end(posted.run_id, studio.host.window)

    for _ in range(4):
        await say("[[tokens: 200]]")
    run = await say("[[text: Last.]]")
    assert run.output == "Last."
    assert least < run.input_tokens < most


@pytest.mark.parametrize("names", [{"HEARTBIT_PROVIDER": "openai"}, {"HEARTBIT_MODEL": "a:b"}])
def test_only_what_the_environment_names_wins_over_the_workspace(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str]
) -> None:
    for name in ("HEARTBIT_PROVIDER", "HEARTBIT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert not host_module.has_explicit_model({"OPENAI_API_KEY": "k"})
    assert host_module.has_explicit_model(names)


async def test_a_workspace_names_the_model_of_agents_that_name_none(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(agent)
    studio.workspace.default_model = "openai:house"
    await orm.run_in_thread(lambda: studio.workspace.save())
    run = await studio.run("[[text: Here.]]", model="")
    assert run.model == "openai:house"


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_account_with_an_address_of_its_own_goes_through_the_guard(
    workspace: Workspace,
    agent: Create,
    wire_server: WireServer,
    settings: Settings,
    *,
    allowed: bool,
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = wire_server.url.partition("//")[2].partition("/")[0]
    if not allowed:
        settings.HEARTBIT_HTTP_ALLOWLIST = ""

    def rows() -> None:
        agent(model="compatible:house", max_retries=0)
        account = ProviderAccount(
            workspace=workspace, provider="compatible", base_url=wire_server.url
        )
        save_provider_account(account, key="sk-of-the-workspace")

    await orm.run_in_thread(rows)
    host = LocalHost(slots=2)
    await host.start()
    studio = Studio(host, workspace)
    run = await studio.run("[[text: From the house.]]", model="")
    await host.stop()
    if allowed:
        assert run.output == "From the house."
    else:
        assert run.error is not None
        assert "HEARTBIT_HTTP_ALLOWLIST" in run.error["message"]


@pytest.mark.parametrize(
    "provider", sorted(name for name, known in KNOWN.items() if known.transport != "shared")
)
async def test_an_address_that_no_guard_would_watch_is_refused(provider: str) -> None:
    account = Account(1, provider, "sk-of-the-workspace", "http://127.0.0.1:9/latest", None, None)

    async def account_of(_provider: str) -> Account | None:
        return account

    async with httpx.AsyncClient() as client:
        models = Models(client, client, local_url=lambda: "", limiter=LocalLimiter())
        with pytest.raises(ConfigurationError, match=f"{provider} takes no base URL from an acc"):
            await models.get((f"{provider}:x",), RetryPolicy(), account_of)


@pytest.mark.parametrize(
    ("model", "loads"), [("openai:x", 1), ("compatible:x", 0), ("ollama:x", 0)]
)
async def test_prices_are_there_before_a_priced_model_is_asked(
    model: str, loads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(
        "agents.runtime.providers.models.load_price_book", lambda: loaded.append("book")
    )
    account = Account(1, model.partition(":")[0], "sk-of-the-workspace", "", None, None)

    async def account_of(_provider: str) -> Account | None:
        return account

    async with httpx.AsyncClient() as client:
        models = Models(client, client, local_url=lambda: "", limiter=LocalLimiter())
        if model.startswith("compatible:"):
            account = Account(1, "compatible", "", "http://127.0.0.1:9/v1", None, None)
        await models.get((model, model), RetryPolicy(), account_of)
    assert len(loaded) == loads


async def test_a_run_says_which_address_was_refused(studio: Studio, agent: Create) -> None:
    def rows() -> None:
        agent(model="deepseek:chat", max_retries=0)
        account = ProviderAccount(
            workspace=studio.workspace, provider="deepseek", base_url="http://127.0.0.1:9"
        )
        account.save()  # as a Heartbit that knew the provider has left it

    await orm.run_in_thread(rows)
    run = await studio.run("[[text: Never.]]", model="")
    assert (run.status, run.error is not None) == (RunStatus.FAILED, True)
    assert "deepseek takes no base URL" in (run.error or {})["message"]
