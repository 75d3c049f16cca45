"""A group of commands whose first command is meant when none is named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class FirstByDefault(TyperGroup):
    """`heartbit runs --last 5` as `heartbit runs list --last 5`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the first command before them unless they name one."""
        named = any(arg in self.commands or arg in ctx.help_option_names for arg in args)
        if not (named or ctx.resilient_parsing) and (not args or args[0].startswith("-")):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
