"""Tools for services outside: mail, search, web pages and webhooks."""
