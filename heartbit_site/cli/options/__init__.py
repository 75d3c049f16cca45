"""Options and arguments that commands share. No Django."""
