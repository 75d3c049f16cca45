"""An app that delivers each message again, added by ``HEARTBIT_EXTRA_APPS``."""
