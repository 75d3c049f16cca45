"""The REST API, `/api/v1/`: the same actions as the admin and the command line, for programs."""
