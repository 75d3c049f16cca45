"""Output, tables, times, keys and errors of the terminal. No Django."""
