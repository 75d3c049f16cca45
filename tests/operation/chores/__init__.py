"""An app with a Celery task of its own, added to an installation by ``HEARTBIT_EXTRA_APPS``."""
