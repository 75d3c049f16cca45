"""An app that makes a worker die, testify or misbehave; added by ``HEARTBIT_EXTRA_APPS``.

The product knows nothing of it: it wraps the product's own functions, when the environment asks.
"""
