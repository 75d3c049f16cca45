"""The command line, `heartbit`.

`commands` holds one command a file: arguments and help. What a command does needs Django, so it is
a module of its own here, imported once Django is ready (`load`).
"""
