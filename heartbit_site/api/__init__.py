"""The REST API, `/api/v1/`: the actions of the admin and the command line, for programs."""
