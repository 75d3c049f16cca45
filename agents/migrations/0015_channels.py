import agents.models.channel
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Channels, and what came in by them; a column of runs that nothing reads is left alone."""

    dependencies = [
        ('agents', '0014_tool_pause'),
        ('base', '0005_tiers'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # Processes of the release before select it while they are replaced: the next one drops it.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    'ALTER TABLE agents_run ALTER COLUMN claimed_seq SET DEFAULT 0',
                    'ALTER TABLE agents_run ALTER COLUMN claimed_seq DROP DEFAULT',
                ),
            ],
            state_operations=[
                migrations.RemoveField(model_name='run', name='claimed_seq'),
            ],
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What comes in here, e.g. support mailbox.', max_length=100)),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook')], max_length=8)),
                ('agent', models.CharField(help_text='Who answers.', max_length=64)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled one takes nothing.')),
                ('approve', models.BooleanField(default=False, help_text='Every tool call of its runs waits for a person.', verbose_name='ask about every call')),
                ('hourly_limit', models.PositiveIntegerField(default=60, help_text='What comes beyond that has to wait.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='messages an hour')),
                ('deliver', models.JSONField(blank=True, default=list, help_text='Besides the sender, e.g. [{"kind": "email", "to": ["ada@example.org"]}]. Empty: answers are in the conversation.', verbose_name='deliver answers to')),
                ('address', models.CharField(default=agents.models.channel.new_address, editable=False, max_length=40, unique=True)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('former_secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('former_until', models.DateTimeField(editable=False, null=True)),
                ('mapping', models.JSONField(blank=True, default=dict, help_text='How a message becomes a task, e.g. {"task": "Answer {ticket.body}", "conversation": "{ticket.id}", "only": {"type": "ticket.created"}}. Empty: the agent gets all of it.')),
                ('senders', models.JSONField(blank=True, default=list, help_text='Who may write: addresses, "@example.org" for all of a domain, "*" for all.')),
                ('reply', models.BooleanField(default=True, help_text='By e-mail, in the same thread.', verbose_name='answer the sender')),
                ('imap_host', models.CharField(blank=True, help_text="Empty: no mailbox is read, mails are posted to the channel's URL.", max_length=253, verbose_name='IMAP server')),
                ('imap_port', models.PositiveIntegerField(default=993, verbose_name='port')),
                ('imap_security', models.CharField(choices=[('tls', 'TLS'), ('starttls', 'STARTTLS'), ('none', 'None')], default='tls', max_length=8, verbose_name='encryption')),
                ('imap_user', models.CharField(blank=True, max_length=254, verbose_name='user')),
                ('imap_password', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('imap_folder', models.CharField(blank=True, default='INBOX', max_length=200, verbose_name='folder')),
                ('uid_validity', models.BigIntegerField(editable=False, null=True)),
                ('last_uid', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('looked_at', models.DateTimeField(editable=False, null=True)),
                ('trouble', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('failures', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('stuck', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('made_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='base.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='InboundMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(max_length=700, verbose_name='id')),
                ('sender', models.CharField(blank=True, max_length=254)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('status', models.CharField(choices=[('accepted', 'Accepted'), ('refused', 'Refused')], max_length=8)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='run')),
                ('thread', models.CharField(blank=True, max_length=200)),
                ('received_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='agents.channel')),
                ('conversation_id', models.UUIDField(blank=True, null=True, verbose_name='conversation')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='channel_named_once'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['email', 'webhook'])), name='channel_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('imap_security__in', ['tls', 'starttls', 'none'])), name='channel_security_known'),
        ),
        migrations.AddIndex(
            model_name='inboundmessage',
            index=models.Index(fields=['channel', '-id'], name='inbound_recent'),
        ),
        migrations.AddIndex(
            model_name='inboundmessage',
            index=models.Index(condition=models.Q(('thread', ''), _negated=True), fields=['channel', 'thread', '-id'], name='inbound_thread'),
        ),
        migrations.AddIndex(
            model_name='inboundmessage',
            index=models.Index(fields=['received_at'], name='inbound_age'),
        ),
        migrations.AddConstraint(
            model_name='inboundmessage',
            constraint=models.UniqueConstraint(fields=('channel', 'external_id'), name='inbound_taken_once'),
        ),
        migrations.AddConstraint(
            model_name='inboundmessage',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['accepted', 'refused'])), name='inbound_status_known'),
        ),
    ]
