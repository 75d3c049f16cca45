"""A page of the bakery."""

from django.http import HttpResponse

from bakery.models import Order
from bakery.tasks import bake


def order(request, bread):
    bake.delay(Order.objects.create(bread=bread).pk)
    return HttpResponse(f"{bread}: ordered")
