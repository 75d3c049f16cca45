"""A process that executes runs: it wires Run rows to the pure loop."""
