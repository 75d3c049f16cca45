"""`heartbit doctor`.

With --json: `{"ok": true, "checks": [{"name": "postgres", "status": "ok" | "warn" | "fail",
"detail": "...", "fix": "..."}]}`.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from rich.console import Console
from rich.text import Text

from heartbit_site.base.terminal_text import clean
from heartbit_site.cli.doctor.examine import Check, examine
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import use_config
from heartbit_site.cli.terminal.errors import FAILED, OK
from heartbit_site.cli.terminal.output import as_json, write_json

CONFIG = common.option(
    "--config -C FILE",
    "Check this configuration; else HEARTBIT_CONFIG, or heartbit.toml here.",
    None,
)
STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}
WIDTH: Final = 16


def doctor(*, config: str | None = CONFIG) -> int:
    """Check the installation and say how to fix problems."""
    use_config(config)
    checks = examine()
    healthy = all(check.status != "fail" for check in checks)
    if as_json():
        write_json({"ok": healthy, "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        _print(checks)
    return OK if healthy else FAILED


def _print(checks: list[Check]) -> None:
    console = Console(highlight=False)
    for check in checks:
        line = Text(f"{check.status:<6}", style=STYLES[check.status])
        line.append(f"{check.name:<{WIDTH}} ", style="bold")
        line.append(clean(check.detail), style="")
        console.print(line, soft_wrap=True)
        if check.fix:
            console.print(Text(f"{'':<6}{'':<{WIDTH}} {clean(check.fix)}"), soft_wrap=True)
