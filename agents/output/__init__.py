"""Answers in a form: a JSON Schema for the model to fill, read and mended. Pure."""
