"""The entry point of `heartbit`.

    heartbit "<task>"            the same as: heartbit run "<task>"
    heartbit --debug <command>   with logs and tracebacks

What a command needs is imported when it runs, so `--help` stays quick. Exit codes: see `errors`.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from importlib import metadata
from typing import Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from heartbit_site.base.process_memory import collect_seldom
from heartbit_site.cli.options import common, shared
from heartbit_site.cli.options.shell_completion import prepare
from heartbit_site.cli.terminal import errors

#: Each command's summary. It lives in the module of that name in `commands`, or in its home: a
#: group as ``app``, else a function of that name.
COMMANDS: Final = {
    "run": "Run a task and print the answer.",
    "submit": "Submit a task to the workers and print the run's id.",
    "status": "Show the latest runs, or one run with its sub-agents.",
    "approve": "Decide tool calls that wait for a person.",
    "resolve": "Resolve uncertain tool calls, whose worker crashed while they ran.",
    "answer": "List and answer other waits of runs, such as reviews of results.",
    "result": "Print a run's answer.",
    "resume": "Resume a local run whose process has ended.",
    "cancel": "Cancel a run and its sub-agents.",
    "runs": "Inspect, fork and archive runs.",
    "agents": "List and manage agents.",
    "workflows": "List, check, run and move workflows.",
    "conversations": "List conversations, and post messages.",
    "artifacts": "List and save artifacts and files of runs.",
    "drive": "List and manage files of the drive.",
    "schedules": "List and manage schedules.",
    "channels": "List and manage channels for inbound messages.",
    "tools": "List, enable, disable and try tools.",
    "skills": "List and manage skills and their versions.",
    "mcp": "List, manage and refresh MCP servers; serve MCP.",
    "memory": "List and manage agents' memories.",
    "collections": "Fill and search vector collections.",
    "state": "Store, read and delete values that outlive runs.",
    "knowledge": "List, manage and search knowledge bases.",
    "credentials": "List and manage the credentials of tools.",
    "config": "Check, import and export configuration files.",
    "users": "List and create users, and set their passwords.",
    "keys": "List, create and revoke API keys.",
    "webhooks": "List and manage webhooks, and their deliveries.",
    "chat-apps": "List and manage chat apps, which ask members.",
    "audit": "List the audit, and verify its chains.",
    "workspaces": "List and make workspaces; settings of one.",
    "members": "List and manage members and their roles.",
    "grants": "List and revoke standing permissions.",
    "budgets": "List and manage spending limits.",
    "provider-accounts": "List and manage keys for models.",
    "usage": "Show usage and limits of today and this month.",
    "prices": "List and set the prices of models.",
    "events": "Print the workspace's events, or follow them.",
    "deliveries": "List and repeat deliveries of results.",
    "inbox": "List an agent's messages, or write one.",
    "serve": "Start a worker, which executes submitted runs.",
    "web": "Serve the web pages, the admin and the API.",
    "beat": "Send periodic tasks to the workers when they are due.",
    "fleet": "List and control workers and queues.",
    "up": "Start everything here: worker, beat, web and services.",
    "down": "Stop the embedded services now.",
    "backup": "Write a backup; nothing is stopped.",
    "restore": "Restore a backup into this installation.",
    "doctor": "Check the installation and say how to fix problems.",
    "completion": "Print a script that completes commands in a shell.",
}
#: Modules of commands that belong together.
HOMES: Final = {
    **dict.fromkeys(("serve", "web", "beat", "up", "down"), "processes"),
    **dict.fromkeys(("backup", "restore"), "backups"),
    **dict.fromkeys(("approve", "resolve", "answer"), "waits"),
    **dict.fromkeys(("status", "result", "cancel"), "one_run"),
    "provider-accounts": "provider_accounts",
    "chat-apps": "chat_apps",
}
#: The classes of commands that are one function; a group gives them to its commands itself.
CLASSES: Final[dict[str, type[TyperCommand]]] = {
    **dict.fromkeys(
        ("submit", "status", "approve", "resolve", "answer", "result"), shared.RemoteCommand
    ),
    **dict.fromkeys(("cancel", "usage", "events", "inbox"), shared.RemoteCommand),
    **dict.fromkeys(("resume", "restore"), shared.ChangeHereCommand),
    **dict.fromkeys(("run", "doctor", "backup"), shared.PrintingCommand),
}
OWN_OPTIONS: Final = ("--help", "-h", "--version")
#: Answer to an option of the Rust original.
RESTATE: Final = (
    "There is no --restate-url: runs are kept in PostgreSQL, without a Restate server, and --url "
    "names the Heartbit server of a command"
)
EPILOG: Final = (
    "Exit codes: 0 done, 1 the run failed, 2 usage, 3 cannot start (configuration, services), "
    "4 left as a person is waited for (resume), 129 and 143 left on a signal (resumable), "
    "130 cancelled."
)


class Commands(TyperGroup):
    """All commands: their summaries are at hand, a command itself is imported to be run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, summary in COMMANDS.items():
            self.add_command(TyperCommand(name, short_help=summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command that the arguments begin with, itself, and the rest."""
        name, summary, rest = super().resolve_command(ctx, args)
        return name, summary and load(str(name)), rest


def load(name: str) -> Any:
    """Return a command with all its options."""
    module = importlib.import_module(f"heartbit_site.cli.commands.{HOMES.get(name, name)}")
    app: typer.Typer | None = getattr(module, "app", None)
    if app is None:
        app = common.command()
        app.command(cls=CLASSES.get(name))(getattr(module, name))
    found: Any = typer.main.get_command(app)
    if isinstance(found, TyperGroup):
        found.help = COMMANDS[name]
    shared.add_workspace(found, name)
    return found


app = typer.Typer(
    name="heartbit",
    cls=Commands,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar='COMMAND ... | "<task>"',
)


@app.callback(invoke_without_command=True, epilog=EPILOG)
def heartbit(
    context: typer.Context,
    *,
    debug: bool = typer.Option(common.OFF, "--debug", help="Show logs and tracebacks."),
    version: bool = typer.Option(common.OFF, "--version", help="Print the version."),
) -> None:
    """Heartbit runs AI agents that survive crashes: here, or on a fleet of workers.

    heartbit "<task>" does a task here and now, with your key or the built-in model.
    """
    if version:
        sys.stdout.write(f"heartbit {metadata.version('heartbit')}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


def main() -> None:
    """Run the command line and exit."""
    collect_seldom()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter shows "?"
    arguments = sys.argv[1:]
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in ours
    if debug:
        arguments.remove("--debug")
    else:
        sys.excepthook = errors.on_defect
    sys.exit(_run(arguments, debug=debug))


def _run(arguments: list[str], *, debug: bool) -> int:
    try:
        errors.set_up_logging(debug=debug)
        prepare()
        complete = with_command(arguments)
        if complete is not arguments:
            from heartbit_site.cli.options.bare_word import is_meant  # noqa: PLC0415  seldom needed

            if not is_meant(COMMANDS, load("run"), arguments):
                return errors.USAGE
        code = typer.main.get_command(app).main(
            complete, prog_name="heartbit", standalone_mode=False
        )
    except typer.TyperException as error:
        sentence = error.format_message().replace("Value error, ", "").rstrip(".")
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "heartbit"
        if getattr(error, "option_name", "") == "--restate-url":
            sentence = RESTATE
        errors.say(f"{sentence}{'' if sentence.endswith('?') else '.'} See `{command} --help`.")
        return errors.USAGE
    except BrokenPipeError:
        # Whoever read this has read enough; nothing may be flushed into the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.FAILED
    except (Exception, KeyboardInterrupt) as error:
        if errors.explain(error) is None and not debug:
            raise
        return errors.report(error, debug=debug)
    return code if isinstance(code, int) else errors.OK


def with_command(arguments: list[str]) -> list[str]:
    """Return the arguments with `run` before a bare task.

    Raises:
        CommandError: One word that is nearly a command is more likely that than a task.
    """
    first = arguments[0] if arguments else ""
    if not arguments or first in COMMANDS or first in OWN_OPTIONS:
        return arguments
    near = difflib.get_close_matches(first, COMMANDS, n=1, cutoff=0.7)
    if near and " " not in first.strip() and not first.startswith("-"):
        raise errors.UsageError(
            f"There is no command {first!r}: did you mean `heartbit {near[0]}`? "
            f"As a task it is `heartbit run {first}`."
        )
    return ["run", *arguments]


if __name__ == "__main__":
    main()
