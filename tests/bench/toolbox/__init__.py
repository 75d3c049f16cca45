"""An app with the tools of the workloads, added to an installation by ``HEARTBIT_EXTRA_APPS``."""
