"""Work of the bakery's own Celery workers."""

from celery import shared_task

from bakery.models import Order


@shared_task
def bake(key):
    order = Order.objects.get(pk=key)
    order.status = "baked"
    order.save()
