"""The entry point of `heartbit`.

    heartbit "<task>"            the same as: heartbit run "<task>"
    heartbit --debug <command>   with logs and tracebacks

What a command needs is imported when it runs, so `--help` stays quick. Exit codes: see `errors`.
"""

from __future__ import annotations

import difflib
import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Final

import typer
import typer.main

from heartbit_site.cli import errors, options
from heartbit_site.cli.commands.agents import agents
from heartbit_site.cli.commands.answer import answer
from heartbit_site.cli.commands.approve import approve
from heartbit_site.cli.commands.audit import audit
from heartbit_site.cli.commands.beat import beat
from heartbit_site.cli.commands.cancel import cancel
from heartbit_site.cli.commands.channels import channels
from heartbit_site.cli.commands.completion import completion, prepare
from heartbit_site.cli.commands.config import config
from heartbit_site.cli.commands.deliveries import deliveries
from heartbit_site.cli.commands.doctor import doctor
from heartbit_site.cli.commands.down import down
from heartbit_site.cli.commands.fleet import fleet
from heartbit_site.cli.commands.inbox import inbox
from heartbit_site.cli.commands.keys import keys
from heartbit_site.cli.commands.resolve import resolve
from heartbit_site.cli.commands.result import result
from heartbit_site.cli.commands.resume import resume
from heartbit_site.cli.commands.run import run
from heartbit_site.cli.commands.runs import runs
from heartbit_site.cli.commands.schedules import schedules
from heartbit_site.cli.commands.serve import serve
from heartbit_site.cli.commands.status import status
from heartbit_site.cli.commands.submit import submit
from heartbit_site.cli.commands.tools import tools
from heartbit_site.cli.commands.up import up
from heartbit_site.cli.commands.usage import usage
from heartbit_site.cli.commands.users import users
from heartbit_site.cli.commands.web import web
from heartbit_site.cli.shared_options import add_shared_options

if TYPE_CHECKING:
    from typer.core import TyperGroup

COMMANDS: Final = (
    *(run, submit, status, approve, resolve, answer, result, resume, cancel),
    *(runs, agents, schedules, channels, tools, config, users, keys, audit),
    *(usage, deliveries, inbox),
    *(serve, web, beat, fleet, up, down, doctor, completion),
)
NAMES: Final = tuple(
    str(command.info.name) if isinstance(command, typer.Typer) else command.__name__
    for command in COMMANDS
)
OWN_OPTIONS: Final = ("--help", "-h", "--version")
EPILOG: Final = (
    "Exit codes: 0 done, 1 the run failed, 2 usage, 3 cannot start (configuration, services), "
    "4 a person is waited for, 129 and 143 left on a signal (resumable), 130 cancelled."
)

app = typer.Typer(
    name="heartbit",
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar='COMMAND ... | "<task>"',
)


@app.callback(invoke_without_command=True, epilog=EPILOG)
def heartbit(
    context: typer.Context,
    *,
    debug: bool = typer.Option(options.OFF, "--debug", help="Show logs and tracebacks."),
    version: bool = typer.Option(options.OFF, "--version", help="Print the version."),
) -> None:
    """Heartbit runs AI agents that survive crashes: here, or on a fleet of workers.

    heartbit "<task>" does a task here and now, with your key or the built-in model.
    """
    if version:
        sys.stdout.write(f"heartbit {metadata.version('heartbit')}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


for command in COMMANDS:
    if isinstance(command, typer.Typer):
        app.add_typer(command)
    else:
        app.command()(command)


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter shows "?"
    arguments = sys.argv[1:]
    debug = "--debug" in _before_dashes(arguments)
    if debug:
        arguments.remove("--debug")
    else:
        sys.excepthook = errors.on_defect
    sys.exit(_run(arguments, debug=debug))


def command_tree() -> TyperGroup:
    """Return all commands with all their options."""
    tree = typer.main.get_group(app)
    add_shared_options(tree)
    return tree


def _run(arguments: list[str], *, debug: bool) -> int:
    try:
        errors.set_up_logging(debug=debug)
        prepare()
        command = command_tree()
        complete = _with_command(arguments)
        if complete is not arguments:
            from heartbit_site.cli.bare_word import is_meant  # noqa: PLC0415  seldom needed

            if not is_meant(command, arguments):
                return errors.USAGE
        code = command.main(complete, prog_name="heartbit", standalone_mode=False)
    except typer.TyperException as error:
        sentence = error.format_message().rstrip(".")
        errors.say(f"{sentence}{'' if sentence.endswith('?') else '.'} See `heartbit --help`.")
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


def _with_command(arguments: list[str]) -> list[str]:
    """Return the arguments with `run` before a bare task.

    Raises:
        CommandError: One word that is nearly a command is more likely that than a task.
    """
    first = arguments[0] if arguments else ""
    if not arguments or first in NAMES or first in OWN_OPTIONS:
        return arguments
    near = difflib.get_close_matches(first, NAMES, n=1, cutoff=0.7)
    if near and " " not in first.strip():
        raise errors.CommandError(
            f"There is no command {first!r}: did you mean `heartbit {near[0]}`? "
            f"As a task it is `heartbit run {first}`.",
            errors.USAGE,
        )
    return ["run", *arguments]


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


if __name__ == "__main__":
    main()
