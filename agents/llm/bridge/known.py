"""Providers that the bridge reaches: data only, readable without the extra ``providers``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Literal

Transport = Literal["shared", "httpx2", "own"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedProvider:
    """One provider of pydantic-ai.

    Attributes:
        package: Distribution that must be installed besides pydantic-ai.
        key_env: Environment variables of the key; error messages name the first.
        key_required: True if the provider requires a key; AWS and Google Cloud have other ways.
        transport: Carrier of requests: the process's client, one of ``httpx2``, or the SDK's own.
        base_url: Constructor argument for another base URL; ``client`` if it is set on the SDK's
            client instead, empty if no other is possible.
        settings: Further constructor arguments with their environment variables; the first variable
            that is set counts.
        required: Names in ``settings`` without which no model can be created.
    """

    package: str
    key_env: tuple[str, ...]
    key_required: bool = True
    transport: Transport = "httpx2"
    base_url: str = ""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()


def _openai(*key_env: str) -> BridgedProvider:
    """Return a provider that pydantic-ai reaches with the SDK of OpenAI."""
    return BridgedProvider(package="openai", key_env=key_env, base_url="client")


KNOWN: dict[str, BridgedProvider] = {
    "alibaba": _openai("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "azure": BridgedProvider(
        package="openai",
        key_env=("AZURE_OPENAI_API_KEY",),
        base_url="azure_endpoint",
        settings={
            "azure_endpoint": ("AZURE_OPENAI_ENDPOINT",),
            "api_version": ("OPENAI_API_VERSION",),
        },
        required=("azure_endpoint",),
    ),
    "bedrock": BridgedProvider(
        package="boto3",
        key_env=("AWS_BEARER_TOKEN_BEDROCK",),
        key_required=False,
        transport="own",
        base_url="base_url",
        settings={
            "aws_access_key_id": ("AWS_ACCESS_KEY_ID",),
            "aws_secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
            "aws_session_token": ("AWS_SESSION_TOKEN",),
            "region_name": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        },
        required=("region_name",),
    ),
    "cerebras": _openai("CEREBRAS_API_KEY"),
    "cohere": BridgedProvider(package="cohere", key_env=("CO_API_KEY",), transport="shared"),
    "deepseek": _openai("DEEPSEEK_API_KEY"),
    "fireworks": _openai("FIREWORKS_API_KEY"),
    "google": BridgedProvider(
        package="google-genai",
        key_env=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        base_url="base_url",
    ),
    "google-cloud": BridgedProvider(
        package="google-genai",
        key_env=(),
        key_required=False,
        base_url="base_url",
        settings={
            "project": ("GOOGLE_CLOUD_PROJECT",),
            "location": ("GOOGLE_CLOUD_LOCATION",),
        },
        required=("project",),
    ),
    "groq": BridgedProvider(
        package="groq", key_env=("GROQ_API_KEY",), transport="shared", base_url="client"
    ),
    "huggingface": BridgedProvider(
        package="huggingface-hub", key_env=("HF_TOKEN",), transport="own", base_url="base_url"
    ),
    "mistral": BridgedProvider(
        package="mistralai", key_env=("MISTRAL_API_KEY",), base_url="base_url"
    ),
    "moonshotai": _openai("MOONSHOTAI_API_KEY"),
    "nebius": _openai("NEBIUS_API_KEY"),
    "sambanova": _openai("SAMBANOVA_API_KEY"),
    "together": _openai("TOGETHER_API_KEY"),
    "vercel": _openai("VERCEL_AI_GATEWAY_API_KEY"),
    "zai": _openai("ZAI_API_KEY"),
}


def installed(known: BridgedProvider) -> bool:
    """Return True if pydantic-ai and the provider's package are installed; import neither."""
    if find_spec("pydantic_ai") is None:
        return False
    try:
        distribution(known.package)
    except PackageNotFoundError:
        return False
    return True
