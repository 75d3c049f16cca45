"""A run's start names the sandbox that is in force at its worker."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0010_memories")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
