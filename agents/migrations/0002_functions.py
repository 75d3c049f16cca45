"""Install the journal's functions and the guards (``agents/runs/sql``)."""

from __future__ import annotations

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial"), ("base", "0001_initial")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
