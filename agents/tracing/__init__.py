"""Traces of runs, made of their journals."""
