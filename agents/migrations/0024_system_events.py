"""System events are read from journal, audit, firings and deliveries, by stream and webhooks."""

import django.contrib.postgres.indexes
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0023_messages_sent_along'),
        ('base', '0002_alerts'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='webhookdelivery',
            name='webhook_told_once',
        ),
        migrations.RemoveIndex(
            model_name='wait',
            name='wait_asked',
        ),
        migrations.AddField(
            model_name='webhookendpoint',
            name='read_from',
            field=models.DateTimeField(editable=False, null=True),
        ),
        # What was sent before is not sent again under another key.
        migrations.RunSQL(
            "UPDATE agents_webhookendpoint SET read_from = last_polled_at", migrations.RunSQL.noop
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='events',
            field=models.JSONField(default=list, help_text='Types of events to send, or patterns.'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'pending'), _negated=True), fields=['next_at'], name='delivery_ended'),
        ),
        migrations.AddIndex(
            model_name='runevent',
            index=django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['at'], name='event_age'),
        ),
        # Quota notices of one period may be there twice.
        migrations.RunSQL(
            "UPDATE agents_webhookdelivery SET event_key = message_id WHERE run_id IS NULL",
            migrations.RunSQL.noop,
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('endpoint', 'run_id', 'event', 'event_key'), name='webhook_told_once', nulls_distinct=False),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
