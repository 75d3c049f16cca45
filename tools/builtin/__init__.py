"""Tools of every installation."""
