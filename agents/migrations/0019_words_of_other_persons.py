"""Journals mark words of other persons than the run's; answers with mixed data wait for a person."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0018_claims_after_a_flood")]

    operations = [
        # Partial: only these events can take a run's person away, and few journals have many.
        migrations.RunSQL(
            "CREATE INDEX event_said ON agents_runevent (run_id) "
            "WHERE type IN ('run.steered', 'wait.resolved')",
            "DROP INDEX event_said",
        ),
        migrations.AddField(
            "delivery", "released", models.BooleanField(db_default=False, default=False)
        ),
    ]
