import agents.models.webhook
import django.core.validators
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0007_column_names'),
    ]

    operations = [
        migrations.AlterField(
            model_name='agent',
            name='approval',
            field=models.CharField(choices=[('never', 'None'), ('effects', 'Calls with external effects'), ('always', 'All')], db_default='never', default='never', help_text="Which of its tool calls wait for a person; a tool's own setting wins.", max_length=8),
        ),
        migrations.AlterField(
            model_name='agent',
            name='reasoning_effort',
            field=models.CharField(blank=True, choices=[('none', 'None'), ('low', 'Low'), ('medium', 'Medium'), ('high', 'High')], db_default='', default='', help_text="How long a reasoning model thinks. Empty: the provider's default.", max_length=8),
        ),
        migrations.AlterField(
            model_name='agent',
            name='uncertain_calls',
            field=models.CharField(choices=[('ask_human', 'Ask a person'), ('tell_model', 'Tell the model and continue'), ('retry', 'Repeat the call')], db_default='ask_human', default='ask_human', help_text='Handling of a call with an external effect whose worker crashed.', max_length=16),
        ),
        migrations.AlterField(
            model_name='budget',
            name='max_tokens',
            field=models.PositiveBigIntegerField(blank=True, help_text='Tokens per period, read and written. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='budget',
            name='max_usd',
            field=models.DecimalField(blank=True, decimal_places=4, help_text='US dollars per period. Empty: no limit.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)]),
        ),
        migrations.AlterField(
            model_name='budget',
            name='warn_at',
            field=models.PositiveSmallIntegerField(db_default=80, default=80, help_text='Usage in percent of a limit that triggers a warning, once per period.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AlterField(
            model_name='channel',
            name='agent',
            field=models.CharField(help_text='Agent that answers.', max_length=64),
        ),
        migrations.AlterField(
            model_name='channel',
            name='approve',
            field=models.BooleanField(default=False, help_text="Every tool call of the channel's runs needs an approval.", verbose_name='require approval'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='deliver',
            field=models.JSONField(blank=True, default=list, help_text='Targets beside the sender, e.g. [{"kind": "email", "to": ["ada@example.org"]}]. Empty: answers stay in the conversation.', verbose_name='also deliver to'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='enabled',
            field=models.BooleanField(default=True, help_text='A disabled channel rejects all messages.'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='hourly_limit',
            field=models.PositiveIntegerField(default=60, help_text='Further e-mails wait in the mailbox; further webhooks are refused.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='messages per hour'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='imap_host',
            field=models.CharField(blank=True, help_text="Host name. Empty: no mailbox; e-mails are posted to the channel's URL.", max_length=253, verbose_name='IMAP server'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='mapping',
            field=models.JSONField(blank=True, default=dict, help_text='Template of the task, e.g. {"task": "Answer {ticket.body}", "conversation": "{ticket.id}", "only": {"type": "ticket.created"}}. Empty: the whole message.'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='name',
            field=models.CharField(help_text='Name in lists, e.g. support mailbox.', max_length=100),
        ),
        migrations.AlterField(
            model_name='channel',
            name='reply',
            field=models.BooleanField(default=True, help_text='Answers are sent by e-mail in the same thread.', verbose_name='reply to sender'),
        ),
        migrations.AlterField(
            model_name='channel',
            name='senders',
            field=models.JSONField(blank=True, default=list, help_text='E-mail addresses, "@example.org" for a whole domain, "*" for all senders.', verbose_name='allowed senders'),
        ),
        migrations.AlterField(
            model_name='conversation',
            name='agent',
            field=models.CharField(help_text='Agent that answers.', max_length=64),
        ),
        migrations.AlterField(
            model_name='conversation',
            name='busy_policy',
            field=models.CharField(choices=[('reject', 'Reject'), ('queue', 'Queue'), ('interrupt', 'Cancel the active run'), ('steer', 'Steer the active run')], default='queue', help_text='Handling of a message that arrives while a run of the conversation is active.', max_length=9),
        ),
        migrations.AlterField(
            model_name='decision',
            name='verdict',
            field=models.CharField(choices=[('approved', 'Approved'), ('edited', 'Approved with other arguments'), ('answered', 'Answered'), ('denied', 'Denied'), ('retried', 'Retried'), ('confirmed', 'Confirmed'), ('skipped', 'Skipped')], max_length=16),
        ),
        migrations.AlterField(
            model_name='inboxentry',
            name='run_id',
            field=models.UUIDField(blank=True, null=True, verbose_name='reader run'),
        ),
        migrations.AlterField(
            model_name='message',
            name='run_id',
            field=models.UUIDField(blank=True, null=True, verbose_name='started run'),
        ),
        migrations.AlterField(
            model_name='message',
            name='source_run_id',
            field=models.UUIDField(blank=True, null=True, verbose_name='sender run'),
        ),
        migrations.AlterField(
            model_name='pause',
            name='kind',
            field=models.CharField(choices=[('queue', 'Queue'), ('workspace', 'Workspace'), ('tool', 'Tool'), ('all', 'Fleet')], max_length=9),
        ),
        migrations.AlterField(
            model_name='run',
            name='crashes',
            field=models.PositiveIntegerField(default=0, help_text='Worker crashes since the last progress.'),
        ),
        migrations.AlterField(
            model_name='run',
            name='priority',
            field=models.SmallIntegerField(default=0, help_text='Order within the workspace; higher values start first.'),
        ),
        migrations.AlterField(
            model_name='run',
            name='task',
            field=models.TextField(help_text='Task of the agent.'),
        ),
        migrations.AlterField(
            model_name='toolbinding',
            name='approval',
            field=models.CharField(blank=True, choices=[('never', 'None'), ('always', 'All'), ('when', 'Calls whose arguments match the rule')], db_default='', default='', help_text='Whether its calls wait for a person. Empty: as the agent says.', max_length=8),
        ),
        migrations.AlterField(
            model_name='toolcall',
            name='arguments',
            field=models.TextField(help_text='JSON text as written by the model.'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='enabled',
            field=models.BooleanField(default=True, help_text='A disabled endpoint receives no events.'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='events',
            field=models.JSONField(default=list, help_text='Types of events to send.'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='name',
            field=models.CharField(help_text='Name in lists, e.g. ticket system.', max_length=100),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='url',
            field=models.CharField(help_text='URL for POST requests. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST.', max_length=500, validators=[agents.models.webhook.check_webhook_url], verbose_name='URL'),
        ),
        migrations.AlterField(
            model_name='workerheartbeat',
            name='lease_seconds',
            field=models.FloatField(help_text='Seconds without a heartbeat after which the lease expires.'),
        ),
        migrations.AlterField(
            model_name='workerheartbeat',
            name='left_at',
            field=models.DateTimeField(blank=True, help_text='Time of departure, or of the detected loss of the worker.', null=True),
        ),
        migrations.AlterField(
            model_name='workerheartbeat',
            name='requested_action',
            field=models.CharField(blank=True, choices=[('stop', 'Stop'), ('restart', 'Restart')], db_default='', default='', help_text='Action requested by an operator; the worker is notified at once.', max_length=8),
        ),
        migrations.AlterField(
            model_name='workerheartbeat',
            name='slots',
            field=models.PositiveIntegerField(default=0, help_text='Maximum number of concurrent runs.'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
