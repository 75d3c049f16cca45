"""Database backend: Django's for PostgreSQL, with fewer round trips and cached plans."""
