"""Actions of the base app, shared by the admin, the API and the commands."""
