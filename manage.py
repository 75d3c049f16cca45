#!/usr/bin/env python
"""Django's management commands; the embedded database is started when no other is configured."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

WITHOUT_DATABASE = frozenset({"collectstatic", "help", "version", "--help", "--version"})


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
    from heartbit_site.refusal import refusal  # noqa: PLC0415  after that variable

    with refusal():
        from heartbit_site.bootstrap import start_services  # noqa: PLC0415  reads the settings
        from heartbit_site.extra_apps import load_apps  # noqa: PLC0415

        load_apps()
        if len(sys.argv) > 1 and sys.argv[1] not in WITHOUT_DATABASE:
            start_services()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
