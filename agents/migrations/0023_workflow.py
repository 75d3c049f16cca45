"""Workflows are listed and changed on pages of their own."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0022_waits_that_stay_open")]

    operations = [
        migrations.CreateModel(
            "Workflow",
            fields=[],
            options={"ordering": ["name"], "proxy": True, "indexes": [], "constraints": []},
            bases=("agents.agent",),
        ),
    ]
