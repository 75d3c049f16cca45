import django.core.validators
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):
    """Defaults of an agent's settings are the database's too, from ``agents.definitions.spec``."""

    dependencies = [
        ('agents', '0021_escalation_audit'),
    ]

    operations = [
        migrations.AlterField(
            model_name='agent',
            name='delegation_timeout_seconds',
            field=models.PositiveIntegerField(db_default=60, default=60, help_text='How long an orchestrator waits for its sub-agents.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='max_parallel',
            field=models.PositiveIntegerField(db_default=10, default=10, help_text='How many sub-agents may work at once.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='max_tokens',
            field=models.PositiveIntegerField(db_default=4096, default=4096, help_text='Limit on each answer.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='max_tool_output_bytes',
            field=models.PositiveIntegerField(db_default=32768, default=32768, help_text='Longer results are cut; the model is told.', validators=[django.core.validators.MinValueValidator(256)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='max_turns',
            field=models.PositiveIntegerField(db_default=10, default=10, help_text='Limit on model calls in one run.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='model',
            field=models.CharField(blank=True, db_default='', default='', help_text="provider:model, e.g. openai:gpt-5. Empty: the installation's default.", max_length=200),
        ),
        migrations.AlterField(
            model_name='agent',
            name='queue',
            field=models.CharField(db_default='agents', default='agents', help_text='The worker queue its runs go to.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_.-]*$', 'Use lower-case letters, digits, . - and _.')]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='timeout_seconds',
            field=models.PositiveIntegerField(db_default=600, default=600, help_text='Limit on the time one run works.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='agent',
            name='tool_timeout_seconds',
            field=models.PositiveIntegerField(db_default=60, default=60, help_text='Limit on one tool call.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='toolbinding',
            name='enabled',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
