"""A run's kind is whatever has an engine; the functions carry it."""

from __future__ import annotations

from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_quota_notices")]

    operations = [
        migrations.AlterField(
            model_name="run", name="kind", field=models.CharField(default="agent", max_length=16)
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
