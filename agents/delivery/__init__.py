"""Delivery of results when a run ends: targets, texts and transport."""
