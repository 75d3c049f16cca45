import agents.models.webhook
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_waits'),
    ]

    operations = [
        migrations.AlterField(
            model_name='webhookendpoint',
            name='url',
            field=models.CharField(help_text='Where messages are posted to. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST.', max_length=500, validators=[agents.models.webhook.check_webhook_url], verbose_name='URL'),
        ),
        migrations.RenameField('agent', 'approval_seconds', 'approval_timeout_seconds'),
        migrations.RenameField('toolbinding', 'approval_seconds', 'approval_timeout_seconds'),
        migrations.RenameField('toolbinding', 'approvals', 'required_approvals'),
        migrations.RenameField('toolbinding', 'approvers', 'approver_group'),
        migrations.RenameField('toolbinding', 'escalate_minutes', 'escalate_after_minutes'),
        migrations.RenameField('toolbinding', 'escalate_group', 'escalation_group'),
        migrations.AlterField(
            model_name='toolbinding',
            name='tool',
            field=models.CharField(help_text="The tool's name in the catalogue.", max_length=64),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
