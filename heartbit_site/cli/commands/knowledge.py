"""`heartbit knowledge`: documents that agents search, and cite."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from heartbit_site.base.amounts import counted
from heartbit_site.base.visible_text import visible
from heartbit_site.cli.backend.checked import checked
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import ChangeHereCommand, RemoteCommand, with_groups
from heartbit_site.cli.terminal.confirmation import confirm_removal, print_removed
from heartbit_site.cli.terminal.errors import (
    CANNOT_START,
    FAILED,
    OK,
    CommandError,
    for_terminal,
    say,
)
from heartbit_site.cli.terminal.output import (
    NAME_WIDTH,
    TEXT_WIDTH,
    as_json,
    listed,
    note,
    one_line,
    write,
    write_json,
)
from heartbit_site.cli.terminal.table import Table, print_done, print_list, print_view
from heartbit_site.contract import knowledge as contract
from heartbit_site.contract.knowledge import (
    MOST_BYTES,
    DocumentIn,
    DocumentOut,
    KnowledgeBaseIn,
    KnowledgeBaseOut,
    PassageDetailOut,
    PassageHitOut,
    SavedDocumentOut,
)

BASE = typer.Argument(metavar="BASE", help="The knowledge base's name.")
PATHS = typer.Argument(metavar="PATH...", help="Documents, and folders of them.")
NAME = typer.Argument(metavar="NAME", help="The document's name.")
QUERY = typer.Argument(metavar="QUERY", help="A question, or words to look for.")
PASSAGE = typer.Argument(metavar="ID", help="The passage's number, as search shows it.")
SETTINGS = body_options(
    KnowledgeBaseIn,
    "name",
    description=typer.Option(
        None, "--description", metavar="TEXT", help="Say what its documents are about."
    ),
    drive_folder=typer.Option(
        None,
        "--drive-folder",
        metavar="FOLDER",
        help="Take up this drive folder's files; '': none.",
    ),
)
IN_BASE = typer.Option("", "--base", metavar="BASE", help="Search this knowledge base alone.")
SOURCE = typer.Option("", "--source", metavar="TEXT", help="Name the origin, such as a URL.")
NUMBER = typer.Option(10, "--limit", metavar="N", help="Number of passages at most.")

SHOWN: Final = 5  # hidden files in a sentence

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_bases() -> int:
    """List the knowledge bases."""
    return print_list(backend(reads_only=True).every(contract.LIST_BASES), BASES)


@app.command(cls=RemoteCommand)
@with_groups
def create(name: str = BASE, *, settings: Annotated[Given, SETTINGS]) -> int:
    """Create a knowledge base, or change its description and its folder of the drive."""
    body = checked(KnowledgeBaseIn, {"name": name, **settings})
    made = backend().call(contract.SAVE_BASE, body)
    return print_done(made, f"The knowledge base {made.name} is saved.")


@app.command(cls=RemoteCommand)
def refresh(base: str = BASE) -> int:
    """Take up new, changed and deleted files of a base's folder of the drive now."""
    asked = backend().call(contract.REFRESH_BASE, base=base)
    return print_done(asked, f"A worker will import the files of {one_line(asked.drive_folder)}.")


@app.command(cls=RemoteCommand)
def delete(base: str = BASE, *, yes: bool = common.YES) -> int:
    """Delete a knowledge base with its documents, for good."""
    server = backend()
    found = server.call(contract.SHOW_BASE, base=base)
    documents = counted(found.document_count, "document")
    confirm_removal(f"{one_line(found.name)} with {documents}", yes=yes)
    server.call(contract.REMOVE_BASE, base=base)
    return print_removed(found.id, found.name, stays="journals keep what runs have read")


@app.command(cls=RemoteCommand)
def documents(base: str = BASE) -> int:
    """List the documents of a knowledge base, with their state."""
    return print_list(backend(reads_only=True).every(contract.LIST_DOCUMENTS, base=base), DOCUMENTS)


@app.command(cls=RemoteCommand)
def add(base: str = BASE, paths: list[Path] = PATHS, *, source: str = SOURCE) -> int:
    """Add documents, or replace those of their names; a worker reads them.

    A document has its file's name; in a folder, its path below the folder. Files that cannot be
    added are named at the end, and cost no other one; the exit code is then 1.
    """
    server = backend()
    saved: list[SavedDocumentOut] = []
    left_out: dict[str, str] = {}  # sentences by name
    seen: dict[str, Path] = {}
    hidden: list[str] = []
    for name, path in _files(paths, left_out, hidden):
        first = seen.setdefault(name, path)
        if first.resolve() != path.resolve():
            left_out[str(path)] = (
                f"{path} would replace {first}, which is the document {one_line(name)} as well: "
                "rename one, or add a folder that holds both."
            )
            continue
        try:
            body = checked(DocumentIn, {"name": name, "content": _encoded(path), "source": source})
            saved.append(server.call(contract.SAVE_DOCUMENT, body, base=base))
        except CommandError as error:
            if error.code == CANNOT_START:  # it is not about this document
                raise
            left_out[name] = for_terminal(error)
            continue
        if not as_json():
            write(f"{one_line(name)}: {saved[-1].outcome}")
    if as_json():
        documents = [one.model_dump(mode="json") for one in saved]
        rows = [{"name": name, "problem": problem} for name, problem in left_out.items()]
        write_json({"documents": documents, "left_out": rows})
    else:
        _print_left_out(left_out, len(saved))
        if hidden:
            shown = listed([*hidden[:SHOWN], *(["others"] if len(hidden) > SHOWN else [])])
            note(f"Hidden files and folders are not added unless they are named: {shown}.")
        if not saved and not left_out:
            note("There are no other files in these folders: nothing was added.")
        if any(one.outcome != "unchanged" for one in saved):
            shows = f"`heartbit knowledge documents {one_line(base)}` shows progress."
            note(f"A worker reads them: {shows}")
    return FAILED if left_out else OK


def _print_left_out(left_out: dict[str, str], added: int) -> None:
    for name, problem in left_out.items():
        say(problem if name in problem else f"{name}: {problem}")
    if len(left_out) + added > 1 and left_out:
        say(f"{counted(len(left_out), 'file')} left out, {added} kept.")


@app.command(cls=RemoteCommand)
def remove(base: str = BASE, name: str = NAME, *, yes: bool = common.YES) -> int:
    """Delete a document with its passages, for good."""
    server = backend()
    found = _find(server, base, name)
    confirm_removal(one_line(found.name), yes=yes)
    server.call(contract.REMOVE_DOCUMENT, base=base, document_id=found.id)
    return print_removed(found.id, found.name, stays="journals keep what runs have read")


@app.command(cls=RemoteCommand)
def search(query: str = QUERY, *, base: str = IN_BASE, limit: int = NUMBER) -> int:
    """Search passages, the best first, as agents do."""
    wanted: dict[str, Any] = {"query": query, "base": base, "limit": limit}
    found = backend().call(contract.SEARCH_PASSAGES, **wanted)
    if not as_json():
        note(f"Found by {found.found_by}.")
    return print_list(found, HITS)


@app.command(cls=RemoteCommand)
def show(passage_id: int = PASSAGE) -> int:
    """Show a passage, as citations name it."""
    found = backend().call(contract.SHOW_PASSAGE, passage_id=passage_id)
    return print_view(found, lambda: _print(found))


@app.command(cls=ChangeHereCommand)
def read() -> int:
    """Read the documents that wait, in this process and without a worker."""
    ensure_ready("heartbit_site.cli.backend.local", tools=False)
    from memory.actions.ingest_documents import ingest_documents

    parts = ingest_documents(goes_on=lambda: True)
    if as_json():
        write_json({"parts": parts})
    else:
        write(f"Read {counted(parts, 'part')} of documents." if parts else "No document waits.")
    return OK


def _files(
    paths: list[Path], left_out: dict[str, str], hidden: list[str]
) -> Iterator[tuple[str, Path]]:
    """Yield each file with its name in the base; hidden files of folders are none.

    Args:
        paths: Files, and folders of them.
        left_out: Receives a sentence by name for each folder that cannot be read or is a link, and
            for what is no file.
        hidden: Receives the paths of hidden files and folders.
    """

    def leave_out(error: OSError) -> None:
        left_out[error.filename] = f"{error.filename} cannot be read: {error.strerror or error}."

    for path in paths:
        if not path.is_dir():
            yield path.name, path
            continue
        for folder, folders, names in os.walk(path, onerror=leave_out):
            hidden += [str(Path(folder, one)) for one in (*folders, *names) if one.startswith(".")]
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for link in (Path(folder, name) for name in folders):
                if link.is_symlink():
                    left_out[str(link)] = (
                        f"{link} is a link to a folder, which is not followed: name it as well."
                    )
            for name in sorted(name for name in names if not name.startswith(".")):
                file = Path(folder, name)
                if file.is_symlink() and not file.resolve().is_relative_to(path.resolve()):
                    left_out[str(file)] = (
                        f"{file} is a link out of the folder, which is not followed: name it as "
                        "well."
                    )
                elif file.is_file() or not file.exists():  # a link to nothing is named as well
                    yield file.relative_to(path).as_posix(), file
                else:
                    left_out[str(file)] = f"{file} is no plain file."


def _encoded(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > MOST_BYTES:
        raise CommandError(
            f"{path} is too large: a document has at most {MOST_BYTES:,} bytes. Divide it."
        )
    if not data:
        raise CommandError(f"{path} is empty.")
    return base64.b64encode(data).decode()


def _find(server: Backend, base: str, name: str) -> DocumentOut:
    found = server.every(contract.LIST_DOCUMENTS, base=base)
    for one in found.documents:
        if one.name == name:
            return one
    raise CommandError(
        f"The knowledge base {one_line(base)} has no document {one_line(name)!r}: "
        f"`heartbit knowledge documents {one_line(base)}` lists them."
    )


def _print(found: PassageDetailOut) -> None:
    write(f"{one_line(found.citation)} (passage {found.position + 1})")
    write(f"{found.link}\n")
    write(visible(found.text))


def _progress(one: DocumentOut) -> str:
    if one.pages is None:
        return ""
    return f"{one.pages_read:,} of {one.pages:,}" if one.state != "ready" else f"{one.pages:,}"


STYLES: Final = {"ready": "green", "failed": "red", "reading": "cyan", "queued": "dim"}
BASES: Final = Table[KnowledgeBaseOut](
    {
        "BASE": lambda one: one.name,
        "DOCUMENTS": lambda one: one.document_count,
        "PASSAGES": lambda one: one.passage_count,
        "UNREAD": lambda one: one.unread_count,
        "FAILED": lambda one: one.failed_count,
        "DESCRIPTION": lambda one: one_line(one.description, TEXT_WIDTH),
        "FOLDER": lambda one: one_line(one.drive_folder, NAME_WIDTH),
    },
    none="No knowledge bases yet.",
)
DOCUMENTS: Final = Table[DocumentOut](
    {
        "DOCUMENT": lambda one: one_line(one.name, NAME_WIDTH),
        "KIND": lambda one: one.kind,
        "STATE": lambda one: one.state,
        "PAGES": _progress,
        "PASSAGES": lambda one: one.passage_count,
        "PROBLEM": lambda one: one_line(one.problem, TEXT_WIDTH),
    },
    STYLES,
    none="No documents yet.",
)
HITS: Final = Table[PassageHitOut](
    {
        "ID": lambda hit: hit.passage.id,
        "SCORE": lambda hit: f"{hit.score:.2f}",
        "SOURCE": lambda hit: one_line(hit.passage.citation, NAME_WIDTH),
        "PASSAGE": lambda hit: one_line(hit.passage.text, TEXT_WIDTH),
        "WHY": lambda hit: hit.why,
    },
    none="Nothing fits.",
)
