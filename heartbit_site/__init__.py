"""The site: settings, command line, API, pages, and the processes that run them."""

from __future__ import annotations

import sys

# Without it httpx has no command line of its own, which it imports with Rich and Pygments.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # says: there is none
