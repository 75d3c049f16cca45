"""Write the reference into ``docs/reference``: ``make reference``."""

from __future__ import annotations

import os

# No service is asked: the addresses only keep the settings from looking for embedded ones.
os.environ.update(
    DATABASE_URL="postgresql://reference/reference",
    REDIS_URL="redis://reference",
    HEARTBIT_SECRET_KEY="reference",
    DJANGO_SETTINGS_MODULE="heartbit_site.settings",
)

if __name__ == "__main__":
    import django

    django.setup()

    from tests.reference.pages import DIRECTORY, written

    for name, text in written().items():
        (DIRECTORY / name).write_text(text)
