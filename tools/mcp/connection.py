"""One connection to an MCP server, owned by the task that opens and closes the SDK's client."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client._transport import Transport
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import TypeAdapter, ValidationError

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.jsonschema import check_schema, validate
from heartbit_site.base.pictures import WithPictures
from heartbit_site.base.suspensions import Question, QuestionReply
from tools.definitions.registry import definition_hash
from tools.mcp import errors, questions
from tools.mcp.endpoints import McpEndpoint, PinnedTool
from tools.mcp.guarded_transport import REFUSED, GuardedMcpTransport, sdk_client
from tools.mcp.listing import Offer, definition, read_offer
from tools.mcp.own_tools import NAMES, own_tools, use_own_tool
from tools.mcp.rendering import as_text, pictures_in
from tools.mcp.stdio import stdio
from tools.mcp.tool_screen import ToolScreen

CONNECT_SECONDS: Final = 20.0
_INFO = mcp_types.Implementation(name="heartbit", version="1")
_ROUNDS = 3  # requests for input in one call
_Result = mcp_types.CallToolResult | mcp_types.InputRequiredResult
_RESULT: TypeAdapter[_Result] = TypeAdapter(_Result)
#: The SDK's error for a 404 when the server no longer knows the session.
_TERMINATED = "Session terminated"
_SCOPE = re.compile(r'(?:^|[\s,])scope="([^"]{1,1000})"')
_CLOSE_SECONDS = 5.0
_LISTEN_SECONDS = 2.0
_CLIENT_ERROR = 400


class McpConnection:
    """An open connection to a server, with the tools that it offers.

    Attributes:
        offer: Its tools, read when it was opened and again after the server said they changed.
    """

    offer: Offer

    def __init__(
        self,
        endpoint: McpEndpoint,
        http: GuardedClient,
        changed: Callable[[], None] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take the server's address.

        Args:
            endpoint: How the server is reached.
            http: The guarded client, for HTTP.
            changed: Called when the server announces that its tools changed.
            say: Receives sentences about the progress of opening it, for people.
        """
        self._endpoint = endpoint
        self._http = http
        self._changed = changed
        self._say = say
        self._is_stale = False
        self._hashes: dict[str, str] = {}
        self._declined: dict[object, questions.Declined] = {}
        self._relisting = asyncio.Lock()
        self._end = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._transport_used: GuardedMcpTransport | None = None
        self._screen = ToolScreen()

    @property
    def is_open(self) -> bool:
        """False once the connection has ended; it is not opened again."""
        return self._owner is not None and not self._owner.done() and not self._end.is_set()

    @property
    def facts(self) -> dict[str, str]:
        """The name, version and protocol that the server reports."""
        client = self._opened.result()
        info = client.server_info
        facts = {"protocol": client.protocol_version}
        if info is not None:
            facts |= {"server": info.name[:200], "version": info.version[:200]}
        return facts

    async def open(self, seconds: float = CONNECT_SECONDS) -> None:
        """Connect and read what the server offers.

        Raises:
            McpError: The server cannot be reached, or its list of tools is not acceptable.
        """
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self._endpoint.name}")
        ends: set[asyncio.Future[Any]] = {self._owner, self._opened}
        try:
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not self._opened.done():
                if self._owner.done():
                    raise self._why()
                raise self._cannot(f"it did not answer within {seconds:g} s")
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection, and the process behind it."""
        self._end.set()
        if self._owner is None:
            return
        if self._opened.done():
            await asyncio.wait({self._owner}, timeout=_CLOSE_SECONDS)
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_CLOSE_SECONDS)

    async def check(self, tool: PinnedTool, *, seconds: float) -> None:
        """Check before a call that the server offers a tool as pinned.

        Raises:
            DifferentOfferError: It does not; a new connection may know of a later offer.
            McpError: The server cannot be used.
            SessionEndedError: It would over a new connection.
        """
        async with self._translating(tool, seconds):
            await self._relist()
            self._check(tool)

    async def call(
        self,
        tool: PinnedTool,
        arguments: dict[str, Any],
        *,
        key: str,
        seconds: float,
        reply: QuestionReply | None = None,
    ) -> str | WithPictures | Question:
        """Call a tool if the server still offers it as pinned; return its result as text.

        Instead of a result, the server may return a question to a person. That ends the call, which
        is repeated with the reply.

        Args:
            tool: The tool as the agent was given it.
            arguments: Arguments that fit the definition.
            key: The call's idempotency key, sent for servers that know it.
            seconds: Limit of the call.
            reply: Reply to the server's earlier question in this call; None if it asked none.

        Raises:
            DifferentOfferError: It does not; a new connection may know of a later offer.
            McpError: The server cannot be used for this call, or the tool failed.
            SessionEndedError: The server did not run the call, but would over a new connection.
        """
        async with self._translating(tool, seconds):
            await self._relist()
            self._check(tool)
            if tool.remote_name in NAMES:
                return await use_own_tool(self._opened.result(), tool.remote_name, arguments)
            with self._noting_declined() as declined:
                result = await self._request(tool.remote_name, arguments, key, reply)
        if isinstance(result, Question):
            return result
        self._check_result(tool.remote_name, result)
        text = questions.with_declined(as_text(result), declined)
        if result.is_error:
            raise errors.McpToolError(text)
        pictures = pictures_in(result)
        return WithPictures(text, pictures) if pictures else text

    # ---------------------------------------------------------------------------------- the owner

    async def _own(self) -> None:
        try:
            async with self._transport() as transport:
                client = Client(
                    self._screen.over(transport),
                    client_info=_INFO,
                    cache=None,
                    message_handler=self._heard,
                    elicitation_callback=self._decline,
                )
                async with client:
                    self._screen.version = client.protocol_version
                    self._say(f"Connected to {_title(client)}; reading its tools.")
                    heard = asyncio.Event()
                    listening = asyncio.create_task(self._listen(client, heard))
                    try:
                        # Before the tools are read, so that no change falls between the two.
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(_LISTEN_SECONDS):
                                await heard.wait()
                        self.offer = await read_offer(
                            client, own_tools(client), self._screen, self._say
                        )
                        self._opened.set_result(client)
                        await self._end.wait()
                    finally:
                        listening.cancel()
        except Exception as error:  # noqa: BLE001  whatever ends a connection is its failure
            self._failure = error

    async def _listen(self, client: Client, heard: asyncio.Event) -> None:
        """Listen for changes, which newer servers send only to listeners."""
        tools = client.server_capabilities.tools
        try:
            if tools is not None and tools.list_changed:
                async with client.listen(tools_list_changed=True) as changes:
                    heard.set()
                    async for _ in changes:
                        self._note_change()
        except (ListenNotSupportedError, SubscriptionLost, MCPError):
            return  # an older server, which notifies every client; or one that breaks the protocol
        finally:
            heard.set()

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Transport]:
        endpoint = self._endpoint
        if endpoint.words:
            yield stdio(endpoint.words, number=endpoint.id)
            return
        self._transport_used = GuardedMcpTransport(self._http)
        async with sdk_client(self._transport_used, dict(endpoint.headers)) as client:
            yield streamable_http_client(endpoint.url, http_client=client)

    async def _heard(self, message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._note_change()

    async def _decline(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        """Decline a question in the middle of a call, which cannot stay open for a person."""
        for declined in self._declined.values():
            declined.add(params.message)
            if declined.count > questions.MOST_DECLINED:
                most = questions.MOST_DECLINED
                self._failure = errors.McpConnectionError(
                    f"it asked more than {most} times in one call"
                )
                self._end.set()
        return questions.DECLINED

    @contextlib.contextmanager
    def _noting_declined(self) -> Iterator[questions.Declined]:
        """Record the server's declined questions while a call runs."""
        mark, declined = object(), questions.Declined()
        self._declined[mark] = declined
        try:
            yield declined
        finally:
            del self._declined[mark]

    def _note_change(self) -> None:
        self._is_stale = True
        if self._changed is not None:
            self._changed()

    # ----------------------------------------------------------------------------------- the call

    async def _relist(self) -> None:
        async with self._relisting:
            if self._is_stale:
                self._is_stale = False
                client = self._opened.result()
                self.offer = await read_offer(client, own_tools(client), self._screen)
                self._hashes.clear()

    def _check(self, tool: PinnedTool) -> None:
        """Refuse a tool that the server has changed since a person agreed to it."""
        offered = self.offer.tools.get(tool.remote_name)
        if offered is None:
            why = self.offer.left_out.get(tool.remote_name, "the server no longer has it")
            raise errors.DifferentOfferError(
                self._sentence(f"{tool.remote_name} cannot be used: {why}")
            )
        known = self._hashes.get(tool.name)
        if known is None:
            known = definition_hash(definition(offered, name=tool.name, effect=tool.effect))
            self._hashes[tool.name] = known
        if known != tool.hash:
            raise errors.changed_error(self._endpoint.name, tool.name)

    async def _request(
        self, name: str, arguments: dict[str, Any], key: str, reply: QuestionReply | None
    ) -> mcp_types.CallToolResult | Question:
        """Send the request; return the result, or the server's question that ended the call.

        A question that cannot be shown to a person is declined.

        The SDK's own ``call_tool`` would check the result with a validator that a hostile schema
        can keep busy for minutes.
        """
        answers, state = questions.responses(reply)
        for _ in range(_ROUNDS):
            result = await self._opened.result().session.send_request(
                mcp_types.CallToolRequest(
                    params=mcp_types.CallToolRequestParams(
                        name=name,
                        arguments=arguments,
                        input_responses=answers,
                        request_state=state,
                        _meta={"heartbit/idempotency-key": key},
                    )
                ),
                _RESULT,
            )
            if isinstance(result, mcp_types.CallToolResult):
                return result
            asked = questions.question(result, self._endpoint.name)
            if asked is not None:
                return asked
            state = result.request_state
            answers = dict.fromkeys(result.input_requests or {}, questions.DECLINED)
        raise self._refused(f"{name} keeps requesting input that Heartbit does not collect")

    def _check_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        schema = self.offer.tools[name].output_schema
        if schema is None or result.is_error or result.structured_content is None:
            return
        check_schema(schema)
        if problems := validate(schema, result.structured_content):
            raise self._refused(
                f"{name} returned a result that does not fit its declared schema: {problems[0]}"
            )

    # ----------------------------------------------------------------------------------- failures

    @contextlib.asynccontextmanager
    async def _translating(self, tool: PinnedTool, seconds: float) -> AsyncIterator[None]:
        """Limit the time of a block, and raise errors of the SDK as ours."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise self._cannot(f"{tool.remote_name} did not finish in {seconds:.3g} s") from None
        except MCPError as error:
            raise await self._translated(error) from error
        except ValidationError as error:
            raise self._cannot("its response violates the protocol") from error

    async def _translated(self, error: MCPError) -> errors.McpError:
        """Return an error of the SDK as one of ours; one that ends the connection ends it."""
        if error.message == _TERMINATED:
            self._end.set()
            return errors.SessionEndedError(f"The MCP server {self._endpoint.name} was restarted.")
        if error.code == REFUSED:
            self._end.set()
            return self._unauthorized(error)
        if error.code == mcp_types.CONNECTION_CLOSED:
            self._end.set()
            if self._owner is not None:
                await asyncio.wait({self._owner}, timeout=1.0)
            return self._why()
        return errors.McpToolError(f"{self._endpoint.name}: {error.message[:2_000]}")

    def _why(self) -> errors.McpError:
        cause = _first(self._failure)
        if isinstance(cause, MCPError) and cause.code == REFUSED:
            return self._unauthorized(cause)
        if isinstance(cause, errors.McpListingError):
            return errors.McpListingError(
                f"The MCP server {self._endpoint.name} is refused: {cause}."
            )
        if isinstance(cause, httpx2.ConnectError) and self._opened.done():
            return errors.SessionEndedError(self._sentence(str(cause)))
        return self._cannot(self._reason(cause))

    def _reason(self, cause: Exception | None) -> str:
        status = self._transport_used.status if self._transport_used is not None else 0
        match cause:
            case None:
                return "the connection ended"
            case MCPError() if status >= _CLIENT_ERROR:
                return f"it answered with the status {status}"
            case MCPError():
                return f"it answered: {cause.message[:500]}"
            case ValidationError():
                return "its response violates the protocol"
            case HeartbitError() | httpx2.HTTPError():
                return str(cause)
        return type(cause).__name__

    def _unauthorized(self, error: MCPError) -> errors.TokenNotAcceptedError:
        challenge = error.data if isinstance(error.data, str) else ""
        scope = _SCOPE.search(challenge) if "insufficient_scope" in challenge else None
        return errors.TokenNotAcceptedError(
            self._sentence(
                f"it answered with the status {error.message[:3]} (it requires another "
                f"credential; if people sign in to it in the browser, set sign_in)"
            ),
            scope.group(1) if scope else "",
        )

    def _cannot(self, why: str) -> errors.McpConnectionError:
        return errors.McpConnectionError(self._sentence(why))

    def _refused(self, why: str) -> errors.McpError:
        return errors.McpError(self._sentence(why))

    def _sentence(self, why: str) -> str:
        return f"The MCP server {self._endpoint.name} failed: {why.removesuffix('.')}."


def _title(client: Client) -> str:
    info = client.server_info
    return "it" if info is None else f"{info.name} {info.version}".strip()[:200]


def _first(error: BaseException | None) -> Exception | None:
    """Return the first error of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else None
