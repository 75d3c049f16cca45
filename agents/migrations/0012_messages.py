import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.ids
from django.db import migrations, models

# Not one of the functions of agents/runs/sql: those are dropped and made anew with each change.
APPEND_ONLY = """
CREATE FUNCTION message_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a message is append-only' USING ERRCODE = 'HB003';
END $$;
CREATE TRIGGER message_append_only BEFORE UPDATE ON agents_message
    FOR EACH ROW EXECUTE FUNCTION message_refuse_update();
"""
UNDO = """
DROP TRIGGER message_append_only ON agents_message;
DROP FUNCTION message_refuse_update();
"""


class Migration(migrations.Migration):
    """Messages between agents, and their inboxes."""

    dependencies = [
        ('agents', '0011_deliveries'),
        ('base', '0004_identity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.UUIDField(default=heartbit_site.base.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('origin', models.CharField(blank=True, db_default='', default='', max_length=16)),
                ('sender', models.CharField(max_length=220)),
                ('recipient', models.CharField(max_length=220)),
                ('kind', models.CharField(choices=[('notification', 'Notification'), ('reply', 'Reply'), ('request', 'Request'), ('task', 'Task')], max_length=12)),
                ('thread', models.CharField(max_length=100)),
                ('seq', models.PositiveIntegerField()),
                ('body', models.TextField(verbose_name='text')),
                ('in_reply_to', models.UUIDField(blank=True, null=True)),
                ('source_run_id', models.UUIDField(blank=True, null=True, verbose_name='written by the run')),
                ('source_call_id', models.CharField(blank=True, db_default='', default='', max_length=24)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='started the run')),
                ('hops', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('idempotency_key', models.CharField(blank=True, max_length=220, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='base.workspace')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [
                    models.Index(fields=['workspace', '-id'], name='message_recent'),
                    models.Index(fields=['workspace', 'sender', 'created_at'], name='message_sent'),
                    models.Index(fields=['workspace', 'recipient', '-id'], name='message_received'),
                    models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id'], name='message_run'),
                    models.Index(fields=['created_at'], name='message_age'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'origin', 'thread', 'seq'), name='message_order'),
                    models.UniqueConstraint(condition=models.Q(('idempotency_key__isnull', False)), fields=('workspace', 'idempotency_key'), name='message_idempotency_key'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['notification', 'reply', 'request', 'task'])), name='message_kind_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='InboxEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='read by the run')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='inbox', to='agents.agent')),
                ('message', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='agents.message')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [
                    models.Index(condition=models.Q(('read_at__isnull', True)), fields=['agent', 'id'], name='inbox_unread'),
                    models.Index(fields=['agent', '-id'], name='inbox_of'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('message', 'agent'), name='message_once_per_inbox'),
                    models.CheckConstraint(condition=models.Q(models.Q(('read_at__isnull', True), ('run_id__isnull', True)), models.Q(('read_at__isnull', False), ('run_id__isnull', False)), _connector='OR'), name='inbox_read_by_a_run'),
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, UNDO),
    ]
