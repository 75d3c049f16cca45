"""Tools for services outside: mail, files, calendars, search, web pages and webhooks."""
