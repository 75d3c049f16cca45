"""An app with a kind of run of its own, added to an installation by ``HEARTBIT_EXTRA_APPS``."""
