"""Providers: dialect, base URL, key and default model of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from agents.llm import profiles
from agents.llm.profiles import Profile

Wire = Literal["openai", "anthropic"]
Pricing = Literal["table", "free", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider.

    Attributes:
        base_url: Base URL, unless ``<NAME>_BASE_URL`` is set; empty if there is no default.
        key_required: True if the provider answers only with a key.
        default_model: Model if the user names none; empty if there is no default.
        profile: Returns the capabilities of one of its models.
        pricing: Published prices, free of charge, or unknown.
    """

    wire: Wire = "openai"
    base_url: str = ""
    key_env: str = ""
    key_required: bool = True
    default_model: str = ""
    profile: Callable[[str], Profile] = lambda _model: profiles.COMPATIBLE
    pricing: Pricing = "table"

    def api_url(self, base_url: str = "") -> str:
        """Return the given or default base URL, with ``/v1`` added if it has no path."""
        url = (base_url or self.base_url).rstrip("/")
        # By convention Anthropic's variable lacks the version and OpenAI's has it.
        is_bare = not urlsplit(url).path or (self.wire == "anthropic" and not url.endswith("/v1"))
        return f"{url}/v1" if is_bare else url


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        wire="anthropic",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
        profile=profiles.anthropic_profile,
    ),
    "openrouter": Provider(
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        default_model="anthropic/claude-sonnet-5.5",
        profile=profiles.openrouter_profile,
    ),
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        default_model="gpt-6-sol",
        profile=profiles.openai_profile,
    ),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
        default_model="gemini-3.8-flash",
    ),
    "ollama": Provider(
        base_url="http://127.0.0.1:11434/v1",
        key_env="OLLAMA_API_KEY",
        key_required=False,
        default_model="qwen3:4b",
        pricing="free",
    ),
    "local": Provider(
        key_required=False,
        default_model="smollm2-135m",
        profile=lambda _model: profiles.TINY,
        pricing="free",
    ),
    "compatible": Provider(
        key_env="COMPATIBLE_API_KEY",
        key_required=False,
        pricing="unknown",
    ),
}


def sees_images(reference: str) -> bool:
    """Return False for a ``provider:model`` that is known to read text alone."""
    name, _, model = reference.partition(":")
    return name not in PROVIDERS or PROVIDERS[name].profile(model.strip()).images
