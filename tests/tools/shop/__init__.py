"""A Django app that gives agents its own model, added by ``HEARTBIT_EXTRA_APPS``."""
