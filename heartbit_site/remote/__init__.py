"""Client of a Heartbit server's REST API, for the command line and for programs. No Django."""
