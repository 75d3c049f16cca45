"""An app that leaves a process without any tool, as one that has none of their code."""
