"""Providers: dialect, base URL, key and default model of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agents.llm import profiles

if TYPE_CHECKING:
    from collections.abc import Callable

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

    wire: Wire
    base_url: str
    key_env: str
    key_required: bool
    default_model: str
    profile: Callable[[str], Profile]
    pricing: Pricing


def _compatible(_model: str) -> Profile:
    return profiles.COMPATIBLE


def _tiny(_model: str) -> Profile:
    return profiles.TINY


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        wire="anthropic",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
        key_required=True,
        default_model="claude-sonnet-5-5",
        profile=profiles.anthropic_profile,
        pricing="table",
    ),
    "openrouter": Provider(
        wire="openai",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        key_required=True,
        default_model="anthropic/claude-sonnet-5.5",
        profile=profiles.openrouter_profile,
        pricing="table",
    ),
    "openai": Provider(
        wire="openai",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        key_required=True,
        default_model="gpt-6-sol",
        profile=profiles.openai_profile,
        pricing="table",
    ),
    "gemini": Provider(
        wire="openai",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
        key_required=True,
        default_model="gemini-3.8-flash",
        profile=_compatible,
        pricing="table",
    ),
    "ollama": Provider(
        wire="openai",
        base_url="http://127.0.0.1:11434/v1",
        key_env="OLLAMA_API_KEY",
        key_required=False,
        default_model="qwen3:4b",
        profile=_compatible,
        pricing="free",
    ),
    "local": Provider(
        wire="openai",
        base_url="",
        key_env="",
        key_required=False,
        default_model="smollm2-135m",
        profile=_tiny,
        pricing="free",
    ),
    "compatible": Provider(
        wire="openai",
        base_url="",
        key_env="COMPATIBLE_API_KEY",
        key_required=False,
        default_model="",
        profile=_compatible,
        pricing="unknown",
    ),
}
