"""Alerts of workspaces, and which workers died."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0027_drafts'),
        ('base', '0003_environment_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='workerheartbeat',
            name='lost',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Death or cut connection, which others noticed.'),
        ),
        migrations.CreateModel(
            name='WorkspaceAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('figure', models.CharField(choices=[('queue_delay_p50', 'Queue delay, median'), ('queue_delay_p95', 'Queue delay, 95th percentile'), ('runs', 'Runs'), ('failures', 'Failed runs'), ('failure_rate', 'Failed runs, in percent'), ('cost', 'Cost in US dollars')], max_length=20)),
                ('comparison', models.CharField(choices=[('above', 'Above'), ('below', 'Below')], default='above', max_length=5)),
                ('threshold', models.DecimalField(decimal_places=4, help_text='Seconds, a count, percent or US dollars, as the figure has it.', max_digits=14, validators=[django.core.validators.MinValueValidator(0)])),
                ('window_minutes', models.PositiveIntegerField(default=60, help_text='Minutes up to now that the figure covers.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(10080)], verbose_name='window in minutes')),
                ('mail_to', models.CharField(blank=True, default='', help_text='Addresses, separated by commas. Webhooks for alert.* get it in any case.', max_length=500)),
                ('enabled', models.BooleanField(default=True)),
                ('raised_at', models.DateTimeField(editable=False, null=True)),
                ('value', models.FloatField(editable=False, null=True)),
                ('unsent', models.JSONField(default=list, editable=False)),
                ('mail_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='base.workspace')),
            ],
            options={
                'verbose_name': 'alert',
                'ordering': ['workspace', 'figure', 'threshold', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('figure__in', ['queue_delay_p50', 'queue_delay_p95', 'runs', 'failures', 'failure_rate', 'cost'])), name='alert_figure_known'), models.CheckConstraint(condition=models.Q(('comparison__in', ['above', 'below'])), name='alert_comparison_known')],
            },
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
