"""A run's start names the sandbox that is in force at its worker."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0010_memories")]

    operations = []
