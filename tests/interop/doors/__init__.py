"""Heartbit, driven by the clients of others: ``python -m tests.interop.doors``."""
