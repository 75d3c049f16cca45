"""Options that several commands share."""

from __future__ import annotations

import typer

TASK = typer.Argument(help="What the agent should do.", metavar="TASK", show_default=False)
AGENT = typer.Option(
    "orchestrator", "--agent", "-a", metavar="NAME", help="Who does it.", show_default=True
)
MODEL = typer.Option(
    "",
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help="For this run and its sub-agents, e.g. openai:gpt-6-sol or local:smollm2-135m.",
    show_default=False,
)
JSON = typer.Option(default=False, flag_value=True, param_decls=None) if False else typer.Option(
    False, "--json", help="Print JSON for machines."
)
