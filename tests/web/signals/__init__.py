"""An app with a kind of wait of its own, added to an installation by ``HEARTBIT_EXTRA_APPS``."""
