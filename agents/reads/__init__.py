"""Reads for pages, commands and programs: what runs, agents and fleets are and have done."""
