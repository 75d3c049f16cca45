"""Queries about runs, agents and the fleet, for pages, commands and programs."""
