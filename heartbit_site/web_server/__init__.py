"""The web process: uvicorn, with limits that apply before Django reads a request."""
