"""Sandboxed execution of code by models (docs/howto/code.md).

``find_sandbox`` returns the configured sandbox, and never falls back to a weaker one.
"""
