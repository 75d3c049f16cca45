"""Tests of a draft count against the limits and budgets of the agent."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [("agents", "0037_drive_deliveries")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
