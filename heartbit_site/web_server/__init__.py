"""The web process: uvicorn, with the limits that hold before Django reads anything."""
