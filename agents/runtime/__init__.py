"""Processes that execute runs: they connect Run rows to the pure loop."""
