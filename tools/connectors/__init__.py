"""Tools for external services: mail, files, calendars, search, web pages and webhooks."""
