"""Database backend: Django's for PostgreSQL, which asks an idle connection less often."""
