"""Indexes of the newest runs of a version, of an agent, in a state; built while the fleet works."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index is not built concurrently in a transaction

    dependencies = [
        ('agents', '0041_figures_of_agents'),
    ]

    operations = [
        # Of a build that was cut off.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS run_of_version', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(fields=['version', '-created_at'], name='run_of_version'),
        ),
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS run_of_agent', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(fields=['workspace', 'agent', '-id'], name='run_of_agent'),
        ),
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS run_in_state', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(condition=models.Q(('status', 'succeeded'), _negated=True), fields=['workspace', 'status', '-id'], name='run_in_state'),
        ),
        # `run_of_version` begins with the same column.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='run',
                    name='version',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='agents.agentversion'),
                ),
            ],
            database_operations=[
                migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS agents_run_version_id_17f915a5', migrations.RunSQL.noop),
            ],
        ),
    ]
