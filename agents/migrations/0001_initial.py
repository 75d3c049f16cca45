import agents.models.agent
import agents.models.channel
import agents.models.webhook
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.ids
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Agents, runs and all that belongs to them. The newest migration installs the functions."""

    initial = True

    dependencies = [
        ('base', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=heartbit_site.base.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(default='agent', max_length=16)),
                ('agent', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('quarantined', 'Quarantined')], default='queued', max_length=16)),
                ('task', models.TextField(help_text='Task of the agent.')),
                ('payload', models.JSONField(blank=True, null=True)),
                ('forked_seq', models.PositiveIntegerField(db_default=0, default=0)),
                ('started_by', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('hops', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('approve', models.BooleanField(db_default=False, default=False)),
                ('output', models.TextField(blank=True, null=True)),
                ('structured', models.JSONField(blank=True, null=True)),
                ('error', models.JSONField(blank=True, null=True)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('model_override', models.CharField(blank=True, max_length=200)),
                ('input_tokens', models.PositiveBigIntegerField(default=0)),
                ('output_tokens', models.PositiveBigIntegerField(default=0)),
                ('priority', models.SmallIntegerField(default=0, help_text='Order within the workspace; higher values start first.')),
                ('queue', models.CharField(default='agents', max_length=64)),
                ('home', models.CharField(choices=[('fleet', 'Fleet'), ('local', 'Local')], default='fleet', max_length=8)),
                ('lease_token', models.BigIntegerField(default=0)),
                ('crashes', models.PositiveIntegerField(default=0, help_text='Worker crashes since the last progress.')),
                ('last_seq', models.PositiveIntegerField(default=0)),
                ('open_waits', models.PositiveIntegerField(default=0)),
                ('available_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('woken_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_requested', models.BooleanField(default=False)),
                ('idempotency_key', models.CharField(blank=True, max_length=200, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('forked_from', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='agents.run')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='agents.run')),
                ('root', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tree', to='agents.run')),
                ('started_user', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.UUIDField(default=heartbit_site.base.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('agent', models.CharField(help_text='Agent that answers.', max_length=64)),
                ('origin', models.CharField(blank=True, editable=False, max_length=16)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('busy_policy', models.CharField(choices=[('reject', 'Reject'), ('queue', 'Queue'), ('interrupt', 'Cancel the active run'), ('steer', 'Steer the active run')], default='queue', help_text='Handling of a message that arrives while a run of the conversation is active.', max_length=9)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='conversations', to='base.workspace')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Name for people and other agents, e.g. researcher.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_-]*$', 'Use lower-case letters, digits, - and _; begin with a letter.')])),
                ('description', models.CharField(blank=True, help_text='Sentence by which an orchestrator chooses an agent for a task.', max_length=300)),
                ('system_prompt', models.TextField(help_text="The agent's role and instructions.")),
                ('model', models.CharField(blank=True, db_default='', default='', help_text="provider:model, e.g. openai:gpt-5. Empty: the installation's default.", max_length=200)),
                ('temperature', models.FloatField(blank=True, help_text="0 is steady, 1 is lively. Empty: the provider's default.", null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(2)])),
                ('stop', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Texts that end an answer: a JSON list of strings.')),
                ('reasoning_effort', models.CharField(blank=True, choices=[('none', 'None'), ('low', 'Low'), ('medium', 'Medium'), ('high', 'High')], db_default='', default='', help_text="Effort of a reasoning model. Empty: the provider's default.", max_length=8)),
                ('fallback_models', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Used in this order when the model fails: a JSON list of provider:model.')),
                ('strong_model', models.CharField(blank=True, db_default='', default='', help_text="provider:model that takes over for the rest of a run after two unusable answers in a row of the agent's own model. Empty: none.", max_length=200)),
                ('max_retries', models.PositiveIntegerField(db_default=3, default=3, help_text='Retries of a failed model call.', validators=[django.core.validators.MaxValueValidator(20)])),
                ('retry_base_delay_ms', models.PositiveIntegerField(db_default=500, default=500, help_text='Longest first pause in milliseconds; it doubles with each retry.')),
                ('retry_max_delay_ms', models.PositiveIntegerField(db_default=30000, default=30000, help_text='Longest pause between two retries in milliseconds.')),
                ('max_tokens', models.PositiveIntegerField(db_default=4096, default=4096, help_text='Token limit of each answer.', validators=[django.core.validators.MinValueValidator(1)])),
                ('max_turns', models.PositiveIntegerField(db_default=10, default=10, help_text='Model calls in one run.', validators=[django.core.validators.MinValueValidator(1)])),
                ('timeout_seconds', models.PositiveIntegerField(db_default=600, default=600, help_text='Seconds of work in one run, without time spent waiting.', validators=[django.core.validators.MinValueValidator(1)])),
                ('tool_timeout_seconds', models.PositiveIntegerField(db_default=60, default=60, help_text='Seconds that one tool call may take.', validators=[django.core.validators.MinValueValidator(1)])),
                ('max_tool_output_bytes', models.PositiveIntegerField(db_default=32768, default=32768, help_text='Longest tool result in bytes; a longer one is cut, with a note in it.', validators=[django.core.validators.MinValueValidator(256)])),
                ('context_strategy', models.JSONField(db_default=models.Value({'type': 'unlimited'}, models.JSONField()), default=agents.models.agent.unlimited, help_text='Part of a long conversation that is sent to the model, e.g. {"type": "sliding_window", "max_tokens": 100000}.')),
                ('response_schema', models.JSONField(blank=True, help_text='JSON Schema that the final answer has to fit. Empty: free text.', null=True)),
                ('approval', models.CharField(choices=[('never', 'None'), ('effects', 'Calls with external effects'), ('always', 'All')], db_default='never', default='never', help_text="Tool calls that need approval; a tool's own setting wins.", max_length=8)),
                ('approval_timeout_seconds', models.PositiveIntegerField(blank=True, help_text="Seconds after which an undecided call is refused; a tool's own setting wins. Empty: never.", null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('uncertain_calls', models.CharField(choices=[('ask_human', 'Ask a person'), ('tell_model', 'Tell the model and continue'), ('retry', 'Repeat the call')], db_default='ask_human', default='ask_human', help_text='Handling of a call with an external effect whose worker crashed.', max_length=16)),
                ('max_run_tokens', models.PositiveBigIntegerField(blank=True, help_text='Token limit of one run, sub-agents included. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('max_run_cost_usd', models.DecimalField(blank=True, decimal_places=4, help_text='Cost limit of one run in US dollars, sub-agents included. Empty: no limit.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('max_runs_per_minute', models.PositiveIntegerField(blank=True, help_text="Limit of runs started per minute, not counting an orchestrator's sub-agents. Empty: no limit.", null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('max_parallel', models.PositiveIntegerField(db_default=10, default=10, help_text='Sub-agents that may run at the same time.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)])),
                ('delegation_timeout_seconds', models.PositiveIntegerField(db_default=60, default=60, help_text='Seconds that an orchestrator waits for its sub-agents.', validators=[django.core.validators.MinValueValidator(1)])),
                ('queue', models.CharField(db_default='agents', default='agents', help_text='Worker queue of its runs.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_.-]*$', 'Use lower-case letters, digits, . - and _.')])),
                ('enabled', models.BooleanField(db_default=True, default=True, help_text='A stopped agent takes no new runs.')),
                ('enabled_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('origin', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('team', models.ManyToManyField(blank=True, help_text='Sub-agents it may delegate to. An agent with a team is an orchestrator.', related_name='orchestrators', to='agents.agent')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='agents', to='base.workspace')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='AgentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64)),
                ('snapshot', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='agents.agent')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.AddField(
            model_name='agent',
            name='current_version',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='agents.agentversion'),
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(choices=[('day', 'Day'), ('month', 'Month')], max_length=8)),
                ('max_tokens', models.PositiveBigIntegerField(blank=True, help_text='Tokens per period, read and written. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('max_usd', models.DecimalField(blank=True, decimal_places=4, help_text='US dollars per period. Empty: no limit.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('period_start', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('spent_tokens', models.PositiveBigIntegerField(db_default=0, default=0, editable=False)),
                ('spent_usd', models.DecimalField(db_default=0, decimal_places=8, default=0, editable=False, max_digits=16)),
                ('from_tier', models.BooleanField(db_default=False, default=False, editable=False)),
                ('warn_at', models.PositiveSmallIntegerField(db_default=80, default=80, help_text='Usage in percent of a limit that triggers a warning, once per period.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('warned_period', models.DateTimeField(blank=True, editable=False, null=True)),
                ('exceeded_period', models.DateTimeField(blank=True, editable=False, null=True)),
                ('exceeded_notified_period', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='budgets', to='agents.agent')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='budgets', to='base.workspace')),
            ],
            options={
                'ordering': ['workspace', 'agent', 'period'],
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Name in lists, e.g. support mailbox.', max_length=100)),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook')], max_length=8)),
                ('agent', models.CharField(help_text='Agent that answers.', max_length=64)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled channel rejects all messages.')),
                ('approve', models.BooleanField(default=False, help_text="Every tool call of the channel's runs needs an approval.", verbose_name='require approval')),
                ('hourly_limit', models.PositiveIntegerField(default=60, help_text='Further e-mails wait in the mailbox; further webhooks are refused.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='messages per hour')),
                ('deliver', models.JSONField(blank=True, default=list, help_text='Targets beside the sender, e.g. [{"kind": "email", "to": ["ada@example.org"]}]. Empty: answers stay in the conversation.', verbose_name='also deliver to')),
                ('url_token', models.CharField(default=agents.models.channel.new_url_token, editable=False, max_length=40, unique=True)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('previous_secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('previous_secret_expires_at', models.DateTimeField(editable=False, null=True)),
                ('mapping', models.JSONField(blank=True, default=dict, help_text='Template of the task, e.g. {"task": "Answer {ticket.body}", "conversation": "{ticket.id}", "only": {"type": "ticket.created"}}. Empty: the whole message.')),
                ('senders', models.JSONField(blank=True, default=list, help_text='E-mail addresses, "@example.org" for a whole domain, "*" for all senders.', verbose_name='allowed senders')),
                ('reply', models.BooleanField(default=True, help_text='Answers are sent by e-mail in the same thread.', verbose_name='reply to sender')),
                ('imap_host', models.CharField(blank=True, help_text="Host name. Empty: no mailbox; e-mails are posted to the channel's URL.", max_length=253, verbose_name='IMAP server')),
                ('imap_port', models.PositiveIntegerField(default=993, verbose_name='port')),
                ('imap_security', models.CharField(choices=[('tls', 'TLS'), ('starttls', 'STARTTLS'), ('none', 'None')], default='tls', max_length=8, verbose_name='encryption')),
                ('imap_user', models.CharField(blank=True, max_length=254, verbose_name='user')),
                ('imap_password', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('imap_folder', models.CharField(blank=True, default='INBOX', max_length=200, verbose_name='folder')),
                ('uid_validity', models.BigIntegerField(editable=False, null=True)),
                ('last_uid', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('last_polled_at', models.DateTimeField(editable=False, null=True)),
                ('last_error', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('failures', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('stuck_polls', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='base.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='checkpoint', serialize=False, to='agents.run')),
                ('seq', models.PositiveIntegerField()),
                ('format', models.PositiveIntegerField()),
                ('state', models.JSONField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name='run',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='agents.agentversion'),
        ),
        migrations.AddField(
            model_name='run',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='base.workspace'),
        ),
        migrations.CreateModel(
            name='BlackboardEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('value', models.JSONField()),
                ('author', models.CharField(max_length=64)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('root', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='blackboard', to='agents.run')),
            ],
            options={
                'verbose_name_plural': 'blackboard entries',
                'ordering': ['key'],
            },
        ),
        migrations.AddField(
            model_name='run',
            name='conversation',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='agents.conversation'),
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.UUIDField(verbose_name='run')),
                ('position', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook'), ('artifact', 'Artifact')], max_length=12)),
                ('target', models.JSONField()),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('recipient_results', models.JSONField(blank=True, default=dict)),
                ('message_id', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='base.workspace')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool', models.CharField(max_length=64)),
                ('definition_hash', models.CharField(max_length=64)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('granted_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='agents.agent')),
                ('root', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='agents.run')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='base.workspace')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('call_id', models.CharField(max_length=24)),
                ('wait_key', models.CharField(db_default='', default='', max_length=80)),
                ('digest', models.CharField(max_length=64)),
                ('executed_digest', models.CharField(blank=True, max_length=64)),
                ('verdict', models.CharField(choices=[('approved', 'Approved'), ('edited', 'Approved with other arguments'), ('answered', 'Answered'), ('denied', 'Denied'), ('retried', 'Retried'), ('confirmed', 'Confirmed'), ('skipped', 'Skipped')], max_length=16)),
                ('arguments', models.TextField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('decided_by', models.CharField(max_length=200)),
                ('via', models.CharField(max_length=16)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='agents.run')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('grant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decisions', to='agents.grant')),
            ],
            options={
                'ordering': ['-at'],
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
                ('conversation_id', models.UUIDField(blank=True, null=True, verbose_name='conversation')),
                ('thread', models.CharField(blank=True, max_length=200)),
                ('received_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='agents.channel')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
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
                ('source_run_id', models.UUIDField(blank=True, null=True, verbose_name='sender run')),
                ('source_call_id', models.CharField(blank=True, db_default='', default='', max_length=24)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='started run')),
                ('hops', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('idempotency_key', models.CharField(blank=True, max_length=220, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='base.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='InboxEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='reader run')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='inbox', to='agents.agent')),
                ('message', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='agents.message')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Pause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('queue', 'Queue'), ('workspace', 'Workspace'), ('tool', 'Tool'), ('all', 'Fleet')], max_length=9)),
                ('queue', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('tool', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('reason', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('by', models.CharField(max_length=200)),
                ('by_operator', models.BooleanField(db_default=True, default=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='pauses', to='base.workspace')),
            ],
            options={
                'ordering': ['at'],
            },
        ),
        migrations.CreateModel(
            name='RunCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('runs', models.PositiveIntegerField(db_default=0, default=0)),
                ('warned_period', models.DateTimeField(blank=True, null=True)),
                ('exceeded_period', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='run_counts', to='agents.agent')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='run_counts', to='base.workspace')),
            ],
            options={
                'ordering': ['workspace', 'agent'],
            },
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('seq', models.PositiveIntegerField()),
                ('type', models.CharField(max_length=40)),
                ('payload', models.JSONField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='agents.run')),
            ],
            options={
                'ordering': ['run_id', 'seq'],
            },
        ),
        migrations.CreateModel(
            name='ToolBinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool', models.CharField(help_text="The tool's name in the catalogue.", max_length=64)),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('approval', models.CharField(blank=True, choices=[('never', 'None'), ('always', 'All'), ('when', 'Calls whose arguments match the rule')], db_default='', default='', help_text="Calls that need approval. Empty: the agent's setting.", max_length=8)),
                ('approval_when', models.JSONField(blank=True, help_text="For 'when': JSON Schema of the arguments whose calls need approval.", null=True)),
                ('approval_timeout_seconds', models.PositiveIntegerField(blank=True, help_text="Seconds after which an undecided call is refused. Empty: the agent's setting.", null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('required_approvals', models.PositiveSmallIntegerField(db_default=1, default=1, help_text='People who have to approve a call; one denial is enough to deny it.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)])),
                ('approver_group', models.CharField(blank=True, db_default='', default='', help_text='Django group whose members may decide. Empty: all who may decide in the workspace.', max_length=150)),
                ('escalate_after_minutes', models.PositiveIntegerField(blank=True, help_text='Minutes after which an undecided call goes to more people. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('escalation_group', models.CharField(blank=True, db_default='', default='', help_text='Django group that may decide then. Empty: all who may decide.', max_length=150)),
                ('defaults', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='Arguments used when the model gives none: a JSON object.')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bindings', to='agents.agent')),
            ],
            options={
                'ordering': ['tool'],
            },
        ),
        migrations.CreateModel(
            name='ToolCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('call_id', models.CharField(max_length=24)),
                ('provider_id', models.CharField(blank=True, max_length=200)),
                ('tool', models.CharField(max_length=200)),
                ('arguments', models.TextField(help_text='JSON text as written by the model.')),
                ('approval_view', models.JSONField(blank=True, null=True)),
                ('digest', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('effect', models.CharField(blank=True, max_length=16)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('started', 'Started'), ('waiting', 'Waiting'), ('ok', 'OK'), ('error', 'Error'), ('timeout', 'Timed out'), ('invalid', 'Invalid arguments'), ('refused', 'Refused'), ('cancelled', 'Cancelled'), ('uncertain', 'Uncertain')], default='pending', max_length=16)),
                ('result', models.TextField(blank=True, null=True)),
                ('idempotency_key', models.CharField(max_length=80)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='agents.run')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('wait_key', models.CharField(max_length=80)),
                ('digest', models.CharField(max_length=64)),
                ('voter', models.CharField(max_length=220)),
                ('by', models.CharField(max_length=200)),
                ('via', models.CharField(max_length=16)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='votes', to='agents.run')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at'],
            },
        ),
        migrations.CreateModel(
            name='Wait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=80)),
                ('kind', models.CharField(max_length=16)),
                ('asks_person', models.BooleanField(db_default=False, default=False)),
                ('child_id', models.UUIDField(blank=True, null=True)),
                ('call_id', models.CharField(blank=True, max_length=24)),
                ('value', models.JSONField(blank=True, null=True)),
                ('timeout_seconds', models.FloatField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('escalates_at', models.DateTimeField(blank=True, null=True)),
                ('escalated_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='waits', to='agents.run')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Name in lists, e.g. ticket system.', max_length=100)),
                ('url', models.CharField(help_text='URL for POST requests. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST.', max_length=500, validators=[agents.models.webhook.check_webhook_url], verbose_name='URL')),
                ('events', models.JSONField(default=list, help_text='Types of events to send.')),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('previous_secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('previous_secret_expires_at', models.DateTimeField(editable=False, null=True)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled endpoint receives no events.')),
                ('disabled_reason', models.CharField(blank=True, default='', editable=False, max_length=200)),
                ('events_from', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('last_polled_at', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='base.workspace')),
            ],
            options={
                'verbose_name': 'webhook',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='run')),
                ('event', models.CharField(max_length=40)),
                ('event_key', models.CharField(max_length=80)),
                ('message_id', models.CharField(max_length=40, unique=True)),
                ('payload', models.JSONField()),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('response_code', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='agents.webhookendpoint')),
            ],
            options={
                'verbose_name': 'webhook delivery',
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WorkerHeartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='host:pid', max_length=200)),
                ('home', models.CharField(choices=[('fleet', 'Fleet'), ('local', 'Local')], default='fleet', max_length=8)),
                ('queues', models.JSONField(default=list)),
                ('slots', models.PositiveIntegerField(default=0, help_text='Maximum number of concurrent runs.')),
                ('lease_seconds', models.FloatField(help_text='Seconds without a heartbeat after which the lease expires.')),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('beat_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('requested_action', models.CharField(blank=True, choices=[('stop', 'Stop'), ('restart', 'Restart')], db_default='', default='', help_text='Action requested by an operator; the worker is notified at once.', max_length=8)),
                ('left_at', models.DateTimeField(blank=True, help_text='Time of departure, or of the detected loss of the worker.', null=True)),
            ],
            options={
                'ordering': ['-started_at'],
                'indexes': [models.Index(condition=models.Q(('left_at__isnull', True)), fields=['beat_at'], name='worker_alive')],
            },
        ),
        migrations.AddField(
            model_name='run',
            name='worker',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='agents.workerheartbeat'),
        ),
        migrations.AddConstraint(
            model_name='agentversion',
            constraint=models.UniqueConstraint(fields=('agent', 'hash'), name='version_hash_per_agent'),
        ),
        migrations.AddConstraint(
            model_name='agentversion',
            constraint=models.UniqueConstraint(fields=('agent', 'number'), name='version_number_per_agent'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.UniqueConstraint(fields=('workspace', 'origin', 'name'), name='agent_name_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('approval__in', ['never', 'effects', 'always'])), name='agent_approval_known'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('uncertain_calls__in', ['ask_human', 'tell_model', 'retry'])), name='agent_uncertain_known'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.UniqueConstraint(models.F('workspace'), models.F('agent'), models.F('period'), models.F('from_tier'), name='budget_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('max_tokens__isnull', False), ('max_usd__isnull', False), _connector='OR'), name='budget_limits_something'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('period__in', ['day', 'month'])), name='budget_period_known'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('warn_at__gte', 1), ('warn_at__lte', 100)), name='budget_warns_in_percent'),
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
        migrations.AddConstraint(
            model_name='blackboardentry',
            constraint=models.UniqueConstraint(fields=('root', 'key'), name='blackboard_key'),
        ),
        migrations.AddConstraint(
            model_name='conversation',
            constraint=models.CheckConstraint(condition=models.Q(('busy_policy__in', ['reject', 'queue', 'interrupt', 'steer'])), name='conversation_policy_known'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['workspace', '-id'], name='delivery_recent'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['created_at'], name='delivery_age'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('run_id', 'position'), name='delivery_ordered_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(condition=models.Q(('message_id', ''), _negated=True), fields=('message_id',), name='delivery_message_id'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['email', 'webhook', 'artifact'])), name='delivery_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='delivery_status_known'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('revoked_at__isnull', True)), fields=['agent', 'tool'], name='grant_standing'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('run', 'wait_key'), name='one_decision_per_question'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['approved', 'edited', 'answered', 'denied', 'retried', 'confirmed', 'skipped'])), name='decision_verdict_known'),
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
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['workspace', '-id'], name='message_recent'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['workspace', 'sender', 'created_at'], name='message_sent'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['workspace', 'recipient', '-id'], name='message_received'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id'], name='message_run'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['created_at'], name='message_age'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('workspace', 'origin', 'thread', 'seq'), name='message_order'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key__isnull', False)), fields=('workspace', 'idempotency_key'), name='message_idempotency_key'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['notification', 'reply', 'request', 'task'])), name='message_kind_known'),
        ),
        migrations.AddIndex(
            model_name='inboxentry',
            index=models.Index(condition=models.Q(('read_at__isnull', True)), fields=['agent', 'id'], name='inbox_unread'),
        ),
        migrations.AddIndex(
            model_name='inboxentry',
            index=models.Index(fields=['agent', '-id'], name='inbox_of'),
        ),
        migrations.AddIndex(
            model_name='inboxentry',
            index=models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id'], name='inbox_read_by'),
        ),
        migrations.AddConstraint(
            model_name='inboxentry',
            constraint=models.UniqueConstraint(fields=('message', 'agent'), name='message_once_per_inbox'),
        ),
        migrations.AddConstraint(
            model_name='inboxentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('read_at__isnull', True), ('run_id__isnull', True)), models.Q(('read_at__isnull', False), ('run_id__isnull', False)), _connector='OR'), name='inbox_read_by_a_run'),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.UniqueConstraint(fields=('kind', 'queue', 'workspace', 'tool', 'by_operator'), name='pause_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.CheckConstraint(condition=models.Q(('by_operator', True), ('workspace__isnull', False), _connector='OR'), name='pause_own_is_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'queue'), ('tool', ''), ('workspace__isnull', True), models.Q(('queue', ''), _negated=True)), models.Q(('kind', 'workspace'), ('queue', ''), ('tool', ''), ('workspace__isnull', False)), models.Q(('kind', 'tool'), ('queue', ''), models.Q(('tool', ''), _negated=True)), models.Q(('kind', 'all'), ('queue', ''), ('tool', ''), ('workspace__isnull', True)), _connector='OR'), name='pause_names_what_it_is_of'),
        ),
        migrations.AddConstraint(
            model_name='runcount',
            constraint=models.UniqueConstraint(fields=('workspace', 'agent'), name='run_count_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='toolbinding',
            constraint=models.UniqueConstraint(fields=('agent', 'tool'), name='tool_once_per_agent'),
        ),
        migrations.AddConstraint(
            model_name='toolbinding',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('approval', 'when'), ('approval_when__isnull', False)), models.Q(models.Q(('approval', 'when'), _negated=True), ('approval_when__isnull', True)), _connector='OR'), name='binding_rule_iff_when'),
        ),
        migrations.AddIndex(
            model_name='toolcall',
            index=models.Index(condition=models.Q(('status', 'waiting')), fields=['run'], name='call_waiting'),
        ),
        migrations.AddConstraint(
            model_name='toolcall',
            constraint=models.UniqueConstraint(fields=('run', 'call_id'), name='call_once_per_run'),
        ),
        migrations.AddConstraint(
            model_name='toolcall',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'started', 'waiting', 'ok', 'error', 'timeout', 'invalid', 'refused', 'cancelled', 'uncertain'])), name='call_status_known'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(fields=('run', 'wait_key', 'voter'), name='one_vote_each'),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('expires_at__isnull', False), ('resolved_at__isnull', True)), fields=['expires_at'], name='wait_expiring'),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('escalated_at__isnull', True), ('escalates_at__isnull', False), ('resolved_at__isnull', True)), fields=['escalates_at'], name='wait_escalating'),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('asks_person', True), ('resolved_at__isnull', True)), fields=['run'], name='wait_for_people'),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('kind', 'approval')), fields=['created_at'], name='wait_asked'),
        ),
        migrations.AddConstraint(
            model_name='wait',
            constraint=models.UniqueConstraint(fields=('run', 'key'), name='wait_once_per_run'),
        ),
        migrations.AddConstraint(
            model_name='wait',
            constraint=models.UniqueConstraint(fields=('child_id',), name='wait_once_per_child'),
        ),
        migrations.AddConstraint(
            model_name='wait',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', True), ('value__isnull', True)), models.Q(('resolved_at__isnull', False), ('value__isnull', False)), _connector='OR'), name='wait_value_iff_resolved'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['endpoint', 'next_at'], name='webhook_due'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['created_at'], name='webhook_age'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('endpoint', 'run_id', 'event', 'event_key'), name='webhook_told_once'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='webhook_status_known'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.F('workspace'), models.OrderBy(models.F('priority'), descending=True), models.F('available_at'), condition=models.Q(('home', 'fleet'), ('status', 'queued')), name='run_claimable'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.F('workspace'), models.OrderBy(models.F('priority'), descending=True), models.F('id'), condition=models.Q(('home', 'fleet'), ('status', 'queued'), models.Q(('parent__isnull', False), ('started_at__isnull', False), _connector='OR')), name='run_begun'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('home', 'fleet'), ('status', 'running')), fields=['workspace'], name='run_at_work'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('worker__isnull', False)), fields=['worker'], name='run_held_by'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['workspace', '-created_at'], name='run_recent'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('conversation__isnull', False)), fields=['conversation', 'created_at'], name='run_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['version'], name='run_live'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('status', 'quarantined')), fields=['created_at'], name='run_quarantined'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('parent__isnull', True)), fields=['workspace', 'finished_at'], name='run_ended'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('forked_from__isnull', False)), fields=['forked_from'], name='run_forks'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('started_user__isnull', False)), fields=['started_user', 'workspace', '-id'], name='run_started_by'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'quarantined'])), name='run_status_known'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('status__in', ['cancelled', 'failed', 'quarantined', 'succeeded'])), models.Q(models.Q(('status__in', ['cancelled', 'failed', 'quarantined', 'succeeded']), _negated=True), ('finished_at__isnull', True)), _connector='OR'), name='run_finished_iff_terminal'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('status', 'running'), ('worker__isnull', True), _connector='OR'), name='run_held_iff_running'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'waiting'), _negated=True), ('open_waits__gt', 0), _connector='OR'), name='run_waits_iff_waiting'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key__isnull', False)), fields=('workspace', 'idempotency_key'), name='run_idempotency_key'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('conversation__isnull', False), ('status__in', ['running', 'waiting'])), fields=('conversation',), name='run_one_at_work_per_conversation'),
        ),
        # Room on each page for the next versions of its rows: a batch of events changes no indexed
        # column of its run, and then writes no index either.
        migrations.RunSQL('ALTER TABLE agents_run SET (fillfactor = 60)', migrations.RunSQL.noop),
    ]
