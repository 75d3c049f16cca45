"""Keep for which period a budget's refusal was reported; notices are written by Python."""

from __future__ import annotations

from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="budget",
            name="stop_notified_for",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
