"""The bakery's Celery app: Heartbit has one of its own."""

from celery import Celery

app = Celery("bakery")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.set_default()  # in the threads of a web process too
app.autodiscover_tasks()
