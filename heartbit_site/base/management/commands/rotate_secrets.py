"""``manage.py rotate_secrets``: encrypt every stored secret with the newest key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from heartbit_site.base.actions.rotate_secrets import BATCH, rotate_secrets
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.os_user import terminal_user


class Command(BaseCommand):
    """The command to run after a new key was put first in HEARTBIT_ENCRYPTION_KEYS.

    Afterwards the old key can be removed from the list.
    """

    help = "Encrypt every stored secret with the first key of HEARTBIT_ENCRYPTION_KEYS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--batch``."""
        parser.add_argument("--batch", type=int, default=BATCH, help="rows in one transaction")

    def handle(self, *args: Any, **options: Any) -> None:
        """Rotate and report; a secret that cannot be read makes the command fail."""
        if options["batch"] < 1:
            raise CommandError("--batch must be 1 or more.")
        try:
            rotation = rotate_secrets(batch=options["batch"], by=terminal_user())
        except HeartbitError as error:
            raise CommandError(str(error)) from error
        for failure in rotation.failures:
            self.stderr.write(failure)
        self.stdout.write(f"{rotation.changed} secrets now have the newest key.")
        if rotation.failures:
            raise CommandError(
                f"{len(rotation.failures)} secrets could not be read and keep their old key; do "
                "not drop it yet."
            )
