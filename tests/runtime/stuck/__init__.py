"""An app with tools that hold up the loop of their worker, added by ``HEARTBIT_EXTRA_APPS``."""
