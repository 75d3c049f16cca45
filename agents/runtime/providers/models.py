"""Model of a run: an adapter with the account's key, limiter, breaker, retry and fallback."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from agents.llm import factory
from agents.llm.bridge.known import KNOWN
from agents.llm.pricing import is_priced, load_price_book
from agents.llm.program_models import find, is_program_model
from agents.llm.protocol import ChatModel
from agents.llm.providers import PROVIDERS
from agents.llm.wrappers.breaker import Breaker, BreakerModel
from agents.llm.wrappers.fallback import FallbackModel
from agents.llm.wrappers.limit import LimitedModel, Limiter, Limits
from agents.llm.wrappers.pace import Pace, PacedModel
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy
from agents.runtime.providers.accounts import Account, account_name
from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

logger = logging.getLogger(__name__)

LOCAL = "local"
KEEP = 256

# Returns the workspace's enabled account with a provider, if it has one.
AccountOf = Callable[[str], Awaitable[Account | None]]


def _any(name: str) -> bool:
    return bool(name)


class Models:
    """Builder of models; adapters are cached while their account is unchanged.

    The local model's URL is looked up every time, because its server may have moved.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        guarded: httpx.AsyncClient,
        *,
        local_url: Callable[[], str],
        limiter: Limiter,
        breaker: Breaker | None = None,
    ) -> None:
        """Take the clients; ``guarded`` is for base URLs typed by users. None: no breaker."""
        self._client = client
        self._guarded = guarded
        self._local_url = local_url
        self._limiter = limiter
        self._breaker = breaker
        self.pace = Pace()
        self._adapters: OrderedDict[tuple[str, Account | None], ChatModel] = OrderedDict()
        self._own: dict[str, ChatModel] = {}
        self._knows_prices = False
        # A second import during one that fails would find half a module.
        self._learning_prices = asyncio.Lock()

    @contextmanager
    def replaced_by(self, model: ChatModel) -> Iterator[None]:
        """Use a program's own model under its name; no provider is called meanwhile."""
        self._own[model.name] = model
        try:
            yield
        finally:
            del self._own[model.name]

    async def get(
        self,
        names: tuple[str, ...],
        retry: RetryPolicy,
        account_of: AccountOf,
        *,
        is_accepted: Callable[[str], bool] = _any,
    ) -> ChatModel:
        """Return the model of a run.

        Args:
            names: ``provider:model`` of the model, then of its fallbacks.
            retry: Retry policy of each model.
            account_of: Looks up the workspace's accounts.
            is_accepted: Returns False for a fallback to leave out.

        Raises:
            ConfigurationError: A provider is unknown, or its key is missing or cannot be read.
        """
        models = [await self._one(names[0], retry, account_of)]
        for name in names[1:]:
            try:
                fallback = await self._one(name, retry, account_of)
                if is_accepted(name):  # its price book is loaded by now
                    models.append(fallback)
                else:
                    logger.warning("%s is left out as a fallback: its price is unknown", name)
            except ConfigurationError as error:  # a missing fallback must not fail the run
                logger.warning("%s is left out as a fallback: %s", name, error)
        return models[0] if len(models) == 1 else FallbackModel(tuple(models))

    async def strong(
        self,
        definition: AgentDefinition,
        account_of: AccountOf,
        *,
        is_accepted: Callable[[str], bool] = _any,
    ) -> ChatModel | None:
        """Return the stronger model of a definition; None if there is none or it is unusable."""
        if not definition.strong_model:
            return None
        names = (definition.strong_model, *definition.fallback_models)
        try:
            found = await self.get(names, definition.retry, account_of, is_accepted=is_accepted)
            return found if is_accepted(definition.strong_model) else None
        except ConfigurationError as error:  # as for a fallback
            logger.warning("%s cannot take over: %s", definition.strong_model, error)
            return None

    async def _one(self, name: str, retry: RetryPolicy, account_of: AccountOf) -> ChatModel:
        if self._own:
            if name not in self._own:
                raise ConfigurationError(f"{name} is not asked while a program's own model is.")
            return self._own[name]
        if is_program_model(name):
            if (own := find(name)) is None:
                raise ConfigurationError(
                    f"{name} is a model of the run's Python program, which this process is not."
                )
            return RetryingModel(PacedModel(own, self.pace), retry)
        provider = name.partition(":")[0]
        if provider == LOCAL:
            url = await asyncio.to_thread(self._local_url)  # may start the server
            local = factory.create(name, client=self._client, environ=os.environ, local_url=url)
            return RetryingModel(PacedModel(local, self.pace), retry)
        if is_priced(provider):
            await self._learn_prices()
        account = await account_of(provider)
        model = self._adapter(name, account)
        if account is not None or _is_metered(provider):
            known = account_name(account.id) if account is not None else f"environment:{provider}"
            limits = Limits() if account is None else _limits(account)
            hold = retry.hold_seconds
            model = LimitedModel(model, self._limiter, known, limits, hold_seconds=hold)
            if self._breaker is not None:
                model = BreakerModel(model, self._breaker, known)
        return RetryingModel(PacedModel(model, self.pace), retry)

    async def _learn_prices(self) -> None:
        async with self._learning_prices:
            if not self._knows_prices:
                await asyncio.to_thread(load_price_book)
                self._knows_prices = True

    def _adapter(self, name: str, account: Account | None) -> ChatModel:
        known = self._adapters.get((name, account))
        if known is not None:
            self._adapters.move_to_end((name, account))
            return known
        typed = account is not None and bool(account.base_url)
        bridged = KNOWN.get(name.partition(":")[0])
        if typed and bridged is not None and bridged.transport != "shared":
            raise ConfigurationError(
                f"The provider {name.partition(':')[0]} takes no base URL from an account: its "
                "requests do not pass the guard. Leave it empty, or use the provider compatible."
            )
        model = factory.create(
            name,
            client=self._guarded if typed else self._client,
            # Never send values of the operator's environment to a URL that a user typed.
            environ={} if typed else os.environ,
            key=account.key if account is not None else None,
            base_url=account.base_url if account is not None else None,
        )
        self._adapters[name, account] = model
        if len(self._adapters) > KEEP:
            self._adapters.popitem(last=False)
        return model


def _limits(account: Account) -> Limits:
    return Limits(account.requests_per_minute, account.tokens_per_minute)


def _is_metered(provider: str) -> bool:
    """Return True unless the provider is one's own server, which has no account to pause."""
    known = PROVIDERS.get(provider)
    return known is None or known.pricing != "free"
