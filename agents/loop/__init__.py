"""The agent loop: a pure fold over events and a small engine. No Django, Celery or Channels."""
