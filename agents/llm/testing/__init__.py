"""What users' own tests and benchmarks need: a server that speaks both wire dialects."""
