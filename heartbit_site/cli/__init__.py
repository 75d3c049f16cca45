"""The command line, `heartbit`.

`commands` holds one command a file: arguments and help. `main` imports a command's file when the
command is called, and what needs Django is imported once that is ready.
"""
