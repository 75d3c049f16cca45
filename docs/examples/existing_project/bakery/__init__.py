"""A bakery's own Django project, with Heartbit's apps beside its own."""

from bakery.celery import app as celery_app

__all__ = ["celery_app"]
