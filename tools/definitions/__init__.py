"""The tools there are: found in code, packages and servers, and stored by their hash."""
