"""An app whose functions are nodes of workflows, added by ``HEARTBIT_EXTRA_APPS``."""
