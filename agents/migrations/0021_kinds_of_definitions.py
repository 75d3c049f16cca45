"""An agent's row says the kind of what it defines, and holds settings that have no column.

The SQL functions are installed by a later migration.
"""

from django.db import migrations, models
from django.db.models import Value


class Migration(migrations.Migration):
    dependencies = [("agents", "0020_children_of_any_kind")]

    operations = [
        migrations.AddField(
            "agent",
            "kind",
            models.CharField(db_default="agent", default="agent", editable=False, max_length=16),
        ),
        migrations.AddField(
            "agent",
            "definition",
            models.JSONField(
                blank=True,
                db_default=Value({}, models.JSONField()),
                default=dict,
                editable=False,
            ),
        ),
        migrations.RunSQL(
            "UPDATE agents_agent a SET kind = v.snapshot ->> 'kind' FROM agents_agentversion v "
            "WHERE v.id = a.current_version_id AND v.snapshot ? 'kind'",
            migrations.RunSQL.noop,
        ),
    ]
