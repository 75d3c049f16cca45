"""Verbs of the base app. Admin, API and commands call the same one for the same change."""
