"""An app with a tool of its own, added to an installation by ``HEARTBIT_EXTRA_APPS``."""
