"""Structured answers: schema, parsing and repair. Pure."""
