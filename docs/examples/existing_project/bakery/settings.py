"""The bakery's settings, built on Heartbit's."""

from heartbit_site.environment import celery_broker
from heartbit_site.settings import *

INSTALLED_APPS = ["bakery", *INSTALLED_APPS]
AUTH_USER_MODEL = "bakery.User"
ROOT_URLCONF = "bakery.urls"
ASGI_APPLICATION = "bakery.asgi.application"
CELERY_BROKER_URL = celery_broker(REDIS_URL)
CELERY_TASK_DEFAULT_QUEUE = "bakery"  # Heartbit's workers serve queues of other names
