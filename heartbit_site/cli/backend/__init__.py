"""Backends of a command's operations: this installation, or a server."""
