"""``python -m heartbit_site.web_server``."""

from __future__ import annotations

from heartbit_site.web_server.serve import main

if __name__ == "__main__":
    main()
