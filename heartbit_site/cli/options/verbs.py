"""Commands of a noun, each derived from the declaration of its operation. No Django.

::

    WEBHOOKS = Verbs(app, "webhook", LIST_WEBHOOKS, TABLE, place="webhook_id")

    WEBHOOKS.list("List the webhooks, the newest first.")
    WEBHOOKS.do("add", CREATE_WEBHOOK, "Make a webhook.", first=("name",), once="secret")
    WEBHOOKS.do("change", CHANGE_WEBHOOK, "Change settings of a webhook; others stay.")
    WEBHOOKS.remove(REMOVE_WEBHOOK, "Remove a webhook.", goes="its log of deliveries")

A part of the path is an argument, in the path's order; so is a field of the body that ``first``
names. All other fields of the body are options (``body_options``). The answer is printed as JSON
or as a list of facts. A command that asks for something, or that calls several operations, is a
function of its own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import typer
from pydantic import BaseModel

from heartbit_site.cli.backend.chosen import (
    backend,
    call,
    confirm_removal,
    print_all,
    send_change,
)
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import body_options
from heartbit_site.cli.options.secret_entry import enter, entry_flags
from heartbit_site.cli.options.shared import OptionGroup, RemoteCommand
from heartbit_site.cli.options.targets import named
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.facts import fact, print_fields
from heartbit_site.cli.terminal.new_file import write_file
from heartbit_site.cli.terminal.output import (
    as_json,
    note,
    one_line,
    write,
    write_bytes,
    write_json,
)
from heartbit_site.cli.terminal.table import Table, print_list, print_view
from heartbit_site.contract.operation import Download, Operation

_PLACE: Final = re.compile(r"\{(\w+)\}")

TO: Final = common.option("--to FILE", "Write to this file; - is standard output; none: its name.")
FORCE: Final = common.flag("--force", "Replace an existing file.")

Shown = Callable[[Any], object]


class Verbs:
    """The commands of a noun.

    Args:
        app: The group that the commands are registered with.
        noun: The noun in the singular, for help and sentences.
        listing: The list of the noun's rows.
        table: The columns of the list.
        place: The part of paths that is a row's number; a row is named by its ``name`` too. Empty:
            the path names the row as a person does.
    """

    def __init__(
        self,
        app: typer.Typer,
        noun: str,
        listing: Operation[Any],
        table: Table[Any],
        *,
        place: str = "",
    ) -> None:
        self._app = app
        self.noun = noun
        self._listing = listing
        self._table = table
        self._place = place

    def list(self, text: str, word: str = "list", **query: Any) -> None:
        """Add the list, whose further parameters have these options."""
        self.list_of(word, self._listing, self._table, text, **query)

    def list_of(
        self, word: str, operation: Operation[Any], table: Table[Any], text: str, **query: Any
    ) -> None:
        """Add a list of something that belongs to the noun; ``limit`` prints one page alone."""

        def run(given: dict[str, Any], body: dict[str, Any]) -> int:
            given = {name: value for name, value in given.items() if value not in (None, "")}
            if not _PLACE.search(operation.path) and "limit" not in given:
                return print_all(operation, table, reads_only=True, **given)
            server = backend(reads_only=not self._place)
            given = self._placed(server, given)
            ask = server.call if "limit" in given else server.every
            return print_list(ask(operation, **given), table)

        self._add(word, operation, text, run, extra=query)

    def do(
        self,
        word: str,
        operation: Operation[Any],
        text: str,
        *,
        first: Sequence[str] = (),
        without: Sequence[str] = (),
        named: Sequence[str] = (),
        said: str = "",
        once: str = "",
        entered: str = "",
        show: Shown | None = None,
        **own: Any,
    ) -> None:
        """Add a command that calls one operation.

        Args:
            word: The command.
            operation: The operation.
            text: The command's help.
            first: Fields of the body that are arguments.
            without: Fields of the body that have no option.
            named: Further parameters of the operation, which are arguments.
            said: The sentence on what was done, with ``{fields}`` of the answer; empty: the facts.
            once: The field of the answer that is never shown again.
            entered: A secret field of the body, which is no argument: a person is asked for it,
                or it is read from standard input.
            show: Prints the answer as text; None: the facts, or ``said``.
            own: Options of fields that are not as the field says.
        """

        def run(given: dict[str, Any], body: dict[str, Any]) -> int:
            ask = {name: given.pop(name) for name in asking}
            if entered and (text := enter(entered, operation, **ask)) is not None:
                body[entered] = text
            server = backend()
            given = self._placed(server, given)
            if operation.method == "PATCH":
                found = send_change(operation, body, server, **given)
            else:
                found = server.call(operation, None if operation.body is None else body, **given)
            return _print(found, said, once, show)

        asking = entry_flags(entered, operation) if entered else {}
        self._add(
            word,
            operation,
            text,
            run,
            first=first,
            without=(*without, entered),
            named=named,
            own=own,
            extra=asking,
        )

    def download(self, word: str, operation: Operation[Download], text: str, *, named: str) -> None:
        """Add a command that saves a file, which its last argument names."""

        def run(given: dict[str, Any], body: dict[str, Any]) -> int:
            to, force = given.pop("to"), given.pop("force")
            file = call(operation, **given)
            if to == "-":
                write_bytes(file.data)
                return OK
            path = Path(to or PurePosixPath(given[named]).name)
            write_file(path, file.data, force=force)
            if as_json():
                write_json({"file": str(path), "size": len(file.data)})
            else:
                note(f"Wrote {path}.")
            return OK

        places = _PLACE.findall(operation.path)
        beside = () if named in places else (named,)
        self._add(word, operation, text, run, named=beside, extra={"to": TO, "force": FORCE})

    def remove(
        self,
        operation: Operation[None],
        text: str,
        *,
        word: str = "remove",
        named: str = "",
        goes: str = "",
        stays: str = "",
        touched: Callable[[Backend, dict[str, Any]], str] | None = None,
    ) -> None:
        """Add the removal, which says what goes with the row and asks first, unless --yes is given.

        Args:
            operation: The operation.
            text: The command's help.
            word: The command.
            named: A further parameter of the operation, which is the argument.
            goes: What is deleted with the row.
            stays: What stays.
            touched: Returns what the removal would touch, to be said before the question.
        """

        def run(given: dict[str, Any], body: dict[str, Any]) -> int:
            yes, called = given.pop("yes"), str(next(iter(given.values())))
            server = backend()
            given = self._placed(server, given)
            if touched is not None and (said := touched(server, given)):
                note(said)
            things = f"{one_line(called)} and {goes}" if goes else one_line(called)
            confirm_removal(things, yes=yes)
            server.call(operation, **given)
            if as_json():
                write_json({"removed": called})
            else:
                write(f"Removed {one_line(called)}{f'; {stays}' if stays else ''}.")
            return OK

        beside = (named,) if named else ()
        self._add(word, operation, text, run, named=beside, extra={"yes": common.YES})

    def _placed(self, server: Backend, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values with the number of the row that a person has named."""
        if self._place not in given:
            return given
        rows = getattr(server.every(self._listing), self._listing.rows)
        return {**given, self._place: named(self.noun, given[self._place], rows)[0].id}

    def _add(
        self,
        word: str,
        operation: Operation[Any],
        text: str,
        work: Callable[[dict[str, Any], dict[str, Any]], int],
        *,
        first: Sequence[str] = (),
        without: Sequence[str] = (),
        named: Sequence[str] = (),
        own: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        places = [self._argument(name) for name in (*_PLACE.findall(operation.path), *named)]
        fields = [_field(operation, name) for name in first]
        options = OptionGroup([], dict)
        if operation.body is not None:
            hidden = {*first, *without, *(each.name for each in places)}
            options = body_options(operation.body, *hidden, **(own or {}))
        beside = [_option(name, option) for name, option in (extra or {}).items()]

        def run(**given: Any) -> int:
            body = options.read(**{each.name: given.pop(each.name) for each in options.parameters})
            body |= {each.name: given.pop(each.name) for each in fields}
            return work(given, body)

        parameters = [*places, *fields, *beside, *options.parameters]
        typed: Any = run
        typed.__doc__ = text
        typed.__signature__ = inspect.Signature(parameters)
        typed.__annotations__ = {each.name: each.annotation for each in parameters}
        self._app.command(name=word, cls=RemoteCommand)(run)

    def _argument(self, name: str) -> inspect.Parameter:
        if name == self._place:
            noun = self.noun.rpartition(" ")[2]
            return _parameter(name, noun.upper(), f"The {self.noun}'s name, or its number.")
        word = name.removesuffix("_id")
        if name != word:
            text = f"The {word}'s id."
        elif word in ("name", "username"):
            text = f"The {self.noun}'s {word}."
        else:
            text = f"The {word}, as the list shows it."
        return _parameter(name, word.upper(), text.replace("_", " "))


def _parameter(name: str, metavar: str, text: str) -> inspect.Parameter:
    argument = common.argument(metavar, text)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=argument, annotation=str)


def _field(operation: Operation[Any], name: str) -> inspect.Parameter:
    assert operation.body is not None  # noqa: S101  a mistake of the declaration
    text = operation.body.model_fields[name].description or f"The {name.replace('_', ' ')}."
    return _parameter(name, name.upper(), text)


def _option(name: str, option: Any) -> inspect.Parameter:
    """Return an option as a parameter; its default says its type."""
    default = option.default
    kind: Any = bool if isinstance(default, bool) else int | None if option.min is not None else str
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=option, annotation=kind)


def _print(found: BaseModel | None, said: str, once: str, show: Shown | None) -> int:
    if found is None:
        write_json({}) if as_json() else write(said)
        return OK

    def print_text() -> None:
        if show is not None:
            show(found)
        elif said:
            write(said.format_map({name: fact(value) for name, value in found}))
        else:
            print_fields(found)
        if once:
            note(f"The {once} is shown only now.")

    return print_view(found, print_text)
