"""Tools for users' own tests and benchmarks: a server that speaks both wire dialects."""
