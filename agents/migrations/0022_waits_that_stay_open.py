"""A run may continue while some of its waits are open; a child may be part of a conversation.

Workflows are listed and changed on pages of their own.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0021_kinds_of_definitions")]

    operations = [
        migrations.CreateModel(
            "Workflow",
            fields=[],
            options={"ordering": ["name"], "proxy": True, "indexes": [], "constraints": []},
            bases=("agents.agent",),
        ),
        migrations.AddField(
            "run", "wake_at", models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.AddField("wait", "announced_at", models.DateTimeField(blank=True, null=True)),
    ]
