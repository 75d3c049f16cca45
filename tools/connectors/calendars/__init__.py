"""Calendars of people and workspaces: CalDAV, and the API of Google Calendar."""
