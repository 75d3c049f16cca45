"""Heartbit's own programs that run in a sandbox as files; no module imports them."""
