"""The bakery's routes before Heartbit's, which stay at the root."""

from django.urls import path

from bakery.views import order
from heartbit_site.urls import urlpatterns

urlpatterns = [path("orders/<str:bread>/", order), *urlpatterns]
