"""Upgrades: a small installation of each release is kept, and today's code continues it.

A release adds one: docs/contributing/release.md.
"""
