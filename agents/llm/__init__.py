"""Language models: typed messages, one protocol, thin wire adapters. Pure: no Django, no Celery."""
