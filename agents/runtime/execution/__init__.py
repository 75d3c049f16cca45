"""Execution of claimed runs in a process: hosts, the run executor, slices and engines."""
