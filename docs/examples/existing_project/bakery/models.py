"""People and orders of the bakery."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    phone = models.CharField(max_length=20, blank=True)


class Order(models.Model):
    bread = models.CharField(max_length=40)
    status = models.CharField(max_length=10, default="new")
