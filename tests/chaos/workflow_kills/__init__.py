"""R27 and R28: workers are killed under workflows."""
