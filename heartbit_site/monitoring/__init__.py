"""Metrics, logs and traces of an installation, for the tools that operators have."""
