"""Names become models, and mistakes become sentences."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import httpx
import pytest

from agents.llm import defaults, factory, profiles
from agents.llm.adapters.anthropic import AnthropicModel
from agents.llm.adapters.constrained_json import ConstrainedJsonModel
from agents.llm.adapters.openai import OpenAIModel
from agents.llm.bridge.known import KNOWN
from agents.llm.bridge.model import BridgedModel
from agents.llm.credentials import ACCOUNT_KEY
from agents.llm.messages import Usage
from agents.llm.pricing import cost
from agents.llm.profiles import Profile
from agents.llm.providers import PROVIDERS
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.installation import extra_command
from tests.llm.bridge_support import needs_extra

if TYPE_CHECKING:
    from agents.llm.protocol import ChatModel

KEYS = {provider.key_env: "sk-1" for provider in PROVIDERS.values() if provider.key_env}


def create(
    reference: str, environ: dict[str, str] | None = None, base_url: str | None = None
) -> OpenAIModel | AnthropicModel | ConstrainedJsonModel:
    made: ChatModel = factory.create(
        reference,
        client=httpx.AsyncClient(),
        environ=KEYS if environ is None else environ,
        base_url=base_url,
    )
    assert isinstance(made, OpenAIModel | AnthropicModel | ConstrainedJsonModel)
    return made


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "local:smollm2-135m"),
        ({"ANTHROPIC_API_KEY": " "}, "local:smollm2-135m"),
        ({"GEMINI_API_KEY": "k"}, "gemini:gemini-3.8-flash"),
        ({"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai:gpt-6-sol"),
        (KEYS, "anthropic:claude-sonnet-5-5"),
        ({**KEYS, "HEARTBIT_PROVIDER": "ollama"}, "ollama:qwen3:4b"),
        ({**KEYS, "HEARTBIT_MODEL": "openai:gpt-5-mini"}, "openai:gpt-5-mini"),
        ({**KEYS, "HEARTBIT_MODEL": "claude-opus-5-5"}, "anthropic:claude-opus-5-5"),
        ({"HEARTBIT_PROVIDER": "ollama", "HEARTBIT_MODEL": "llama3.2:3b"}, "ollama:llama3.2:3b"),
        ({"HEARTBIT_PROVIDER": "openai", "HEARTBIT_MODEL": "openai:gpt-5"}, "openai:gpt-5"),
        ({"HEARTBIT_MODEL": "groq:llama-4"}, "groq:llama-4"),
        ({"HEARTBIT_PROVIDER": "mistral", "HEARTBIT_MODEL": "small"}, "mistral:small"),
        ({"HEARTBIT_MODEL": "local:qwen3:4b"}, "local:qwen3:4b"),
        ({"HEARTBIT_PROVIDER": "local", "HEARTBIT_MODEL": "qwen3:4b"}, "local:qwen3:4b"),
        ({"LOCAL_BASE_URL": "http://h", "HEARTBIT_MODEL": "qwen3:4b"}, "local:qwen3:4b"),
        ({"OPENAI_API_KEY": "k", "HEARTBIT_MODEL": "ft:gpt:o::1"}, "openai:ft:gpt:o::1"),
        (
            {"OPENROUTER_API_KEY": "k", "HEARTBIT_MODEL": "deepseek/r1:free"},
            "openrouter:deepseek/r1:free",
        ),
    ],
)
def test_the_default_model(environ: dict[str, str], expected: str) -> None:
    assert defaults.default_model(environ) == expected


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"HEARTBIT_PROVIDER": "opnai"}, "did you mean openai?"),
        ({"HEARTBIT_PROVIDER": "zzz"}, "known are anthropic"),
        ({"HEARTBIT_PROVIDER": "zzz"}, f"`{extra_command('providers')}` adds alibaba"),
        ({"HEARTBIT_PROVIDER": "compatible"}, "set HEARTBIT_MODEL"),
        ({"HEARTBIT_PROVIDER": "groq"}, "set HEARTBIT_MODEL"),
        ({"HEARTBIT_MODEL": "antropic:claude"}, "did you mean anthropic?"),
        ({"HEARTBIT_MODEL": "bogus:xx"}, '"bogus" in HEARTBIT_MODEL is unknown; known are anth'),
        ({"HEARTBIT_MODEL": "bogus:xx"}, "set HEARTBIT_PROVIDER if the colon"),
        ({**KEYS, "HEARTBIT_MODEL": "bogus:xx"}, '"bogus"'),
        ({"LOCAL_BASE_URL": "http://h", "HEARTBIT_MODEL": "opena:x"}, "did you mean openai?"),
    ],
)
def test_a_default_that_cannot_be_used_says_why(environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        defaults.default_model(environ)


@pytest.mark.parametrize(
    ("reference", "environ", "said"),
    [
        ("openai:gpt-6-sol", {}, "set OPENAI_API_KEY"),
        ("anthropic:claude", {"ANTHROPIC_API_KEY": " "}, "set ANTHROPIC_API_KEY"),
        ("openai:", KEYS, "names no model"),
        ("openai", KEYS, "such as openai:gpt-6-sol"),
        ("", KEYS, "unknown"),
        ("OpenAI:gpt", KEYS, "did you mean openai?"),
        ("compatible:x", KEYS, "set COMPATIBLE_BASE_URL"),
        ("local:x", {}, "start the local model's server"),
        ("openai:x", {"OPENAI_API_KEY": "sk-é"}, "OPENAI_API_KEY holds characters"),
        ("openai:x", {"OPENAI_API_KEY": "sk-1\nsk-2"}, "OPENAI_API_KEY holds characters"),
        ("openai:x", {**KEYS, "OPENAI_BASE_URL": "api.openai.com"}, "not an http or https URL"),
        ("openai:x", {**KEYS, "OPENAI_BASE_URL": "http://[bad"}, "not an http or https URL"),
        ("openai:x", {**KEYS, "OPENAI_BASE_URL": "http://h:99999"}, "not an http or https URL"),
    ],
)
def test_a_model_that_cannot_be_made_says_why(
    reference: str, environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create(reference, environ)
    assert said in str(caught.value)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "base", "expected"),
    [
        ("openai:m", "http://h:1", "http://h:1/v1/chat/completions"),
        ("openai:m", "http://h:1/", "http://h:1/v1/chat/completions"),
        ("openai:m", "http://h/v1/", "http://h/v1/chat/completions"),
        ("openai:m", "http://h/proxy", "http://h/proxy/chat/completions"),
        ("anthropic:m", "http://h:1", "http://h:1/v1/messages"),
        ("anthropic:m", "http://h/v1", "http://h/v1/messages"),
        ("anthropic:m", "http://h/proxy", "http://h/proxy/v1/messages"),
    ],
)
def test_base_urls_are_completed(reference: str, base: str, expected: str) -> None:
    name = reference.partition(":")[0]
    variable = create(reference, {**KEYS, f"{name.upper()}_BASE_URL": base})
    argument = create(reference, {**KEYS, f"{name.upper()}_BASE_URL": "x"}, base)
    for made in (variable, argument):
        assert not isinstance(made, ConstrainedJsonModel)
        assert made.exchange.endpoint.url == expected


def test_given_an_account_then_its_key_and_url_win_over_the_environments() -> None:
    made = factory.create(
        "openai:m",
        client=httpx.AsyncClient(),
        environ={"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://env/v1"},
        key=" sk-account ",
        base_url="http://account/v1",
    )
    assert isinstance(made, OpenAIModel)
    assert made.exchange.endpoint.url == "http://account/v1/chat/completions"
    assert made.exchange.headers["authorization"] == "Bearer sk-account"
    assert made.exchange.endpoint.key_env == ACCOUNT_KEY


@pytest.mark.parametrize(
    ("reference", "key", "said"),
    [
        ("openai:m", "", "needs a key; enter one in the provider account"),
        ("openai:m", "sk-é", "The key of the provider account holds characters"),
        ("groq:m", "", "needs a key; enter one in the provider account"),
        ("groq:m", "sk-1\nsk-2", "The key of the provider account holds characters"),
    ],
)
def test_given_an_accounts_key_that_cannot_be_used_then_no_variable_is_named(
    reference: str, key: str, said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        factory.create(reference, client=httpx.AsyncClient(), environ=KEYS, key=key)
    assert said in str(caught.value)
    assert "API_KEY" not in str(caught.value)
    assert "sk-" not in str(caught.value)


@needs_extra
@pytest.mark.parametrize(
    ("reference", "environ", "said"),
    [
        ("groq:m", {}, "set GROQ_API_KEY"),
        ("groq:", {"GROQ_API_KEY": "k"}, "such as groq:MODEL"),
        ("groq:m", {"GROQ_API_KEY": "k", "GROQ_BASE_URL": "nowhere"}, "not an http or https URL"),
        ("azure:m", {"AZURE_OPENAI_API_KEY": "k"}, "needs AZURE_OPENAI_ENDPOINT"),
        ("Groq:m", {}, "did you mean groq?"),
        ("mistrall:m", {}, "did you mean mistral?"),
    ],
)
def test_given_a_provider_of_the_bridge_that_cannot_be_made_then_it_says_why(
    reference: str, environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        factory.create(reference, client=httpx.AsyncClient(), environ=environ)
    assert said in str(caught.value)


def test_given_no_extra_then_its_providers_say_how_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)  # how Python marks what is not there
    with pytest.raises(ConfigurationError) as caught:
        factory.create("groq:m", client=httpx.AsyncClient(), environ={"GROQ_API_KEY": "k"})
    assert f'"groq" is not installed; `{extra_command("providers")}`' in str(caught.value)


@needs_extra
def test_given_a_provider_of_the_bridge_then_the_key_is_found_and_never_shown() -> None:
    made = factory.create(
        "alibaba:qwen:max",
        client=httpx.AsyncClient(),
        environ={"DASHSCOPE_API_KEY": "sk-1", "ALIBABA_BASE_URL": "http://h/v1/"},
    )
    assert isinstance(made, BridgedModel)
    assert made.name == "alibaba:qwen:max"
    assert (made.account.secret, made.account.key_source) == ("sk-1", "DASHSCOPE_API_KEY")
    assert made.account.base_url == "http://h/v1"
    assert "sk-1" not in repr(made)


def test_each_provider_gets_its_dialect_its_key_and_its_profile() -> None:
    anthropic = create("anthropic:claude-sonnet-5-5")
    assert isinstance(anthropic, AnthropicModel)
    assert anthropic.exchange.headers["x-api-key"] == "sk-1"
    assert anthropic.profile.thinking == "always"
    openai = create("openai:gpt-6-sol")
    assert isinstance(openai, OpenAIModel)
    assert openai.exchange.headers["authorization"] == "Bearer sk-1"
    assert "sk-1" not in repr(openai)
    local = create("local:smollm2-135m", {}, "http://127.0.0.1:1")
    assert isinstance(local, ConstrainedJsonModel)
    assert local.name == "local:smollm2-135m"
    assert local.rules.first_tools == ("delegate_task",)


def test_a_profile_can_be_given_for_a_model_the_table_does_not_know() -> None:
    made = factory.create(
        "ollama:qwen3:0.6b",
        client=httpx.AsyncClient(),
        environ={},
        profile=Profile(tools="constrained_json"),
    )
    assert isinstance(made, ConstrainedJsonModel)
    assert made.rules.free_choice
    assert made.name == "ollama:qwen3:0.6b"


def test_openrouter_knows_which_models_refuse_a_forced_call() -> None:
    assert not profiles.openrouter_profile("anthropic/claude-sonnet-5.5").forced_tool_choice
    assert profiles.openrouter_profile("anthropic/claude-sonnet-5").forced_tool_choice
    assert profiles.openrouter_profile("openai/gpt-6-sol").forced_tool_choice


def test_published_prices_are_exact_and_unknown_ones_are_not_nothing() -> None:
    price = cost("anthropic:claude-sonnet-4-5", Usage(1_000_000, 100_000))
    assert isinstance(price, Decimal)
    assert price > 1
    cached = cost("anthropic:claude-sonnet-4-5", Usage(1_000_000, 100_000, 900_000))
    assert cached is not None
    assert cached < price
    assert cost("openai:no-such-model", Usage(10, 10)) is None
    assert cost("compatible:x", Usage(10, 10)) is None
    assert cost("nobody:gpt-6-sol", Usage(10, 10)) is None
    assert cost("nonsense", Usage(10, 10)) is None
    assert cost("ollama:gpt-oss:120b-cloud", Usage(10, 10)) is None
    assert cost("openai:gpt-6-sol", Usage(1, 1, 50)) is None
    assert cost("local:smollm2-135m", Usage(10, 10)) == 0
    assert cost("ollama:qwen3:4b", Usage(10, 10)) == 0


@pytest.mark.parametrize("name", [n for n, p in PROVIDERS.items() if p.pricing == "table"])
def test_every_default_model_has_a_price(name: str) -> None:
    assert cost(f"{name}:{PROVIDERS[name].default_model}", Usage(1000, 1000))


def test_no_provider_of_the_bridge_hides_one_of_ours() -> None:
    assert not PROVIDERS.keys() & KNOWN.keys()


@needs_extra
def test_every_provider_of_the_bridge_is_one_pydantic_ai_knows() -> None:
    providers = importlib.import_module("pydantic_ai.providers")
    unknown = []
    for name in KNOWN:
        try:
            providers.infer_provider_class(name)
        except ImportError:
            continue  # known, but its package is not in the development lock
        except ValueError:
            unknown.append(name)
    assert not unknown


@needs_extra
def test_given_a_model_of_the_bridge_then_making_it_imports_nothing_heavy() -> None:
    program = (
        "import sys, httpx; from agents.llm import factory;"
        "factory.create('groq:m', client=httpx.AsyncClient(), environ={'GROQ_API_KEY': 'k'});"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert not {"pydantic_ai", "groq", "openai"} & set(done.stdout.split())
