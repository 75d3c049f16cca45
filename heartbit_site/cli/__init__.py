"""The command line: `heartbit`. One command a file in `commands`; what needs Django is loaded late."""
