#!/usr/bin/env python
"""Django's management commands, with the embedded services started when no database is configured."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
