"""Tools that every installation has."""
