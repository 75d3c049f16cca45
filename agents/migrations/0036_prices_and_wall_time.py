"""Prices of models that a workspace sets, and time limits that count waits."""


import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0035_state_store'),
        ('base', '0006_unknown_prices'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelPrice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(help_text='provider:model, e.g. compatible:our-model.', max_length=200, validators=[django.core.validators.RegexValidator('^[a-z_]+:\\S+$', 'Write provider:model, e.g. openai:gpt-5.')])),
                ('input_usd', models.DecimalField(decimal_places=6, help_text='US dollars per million tokens read.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)], verbose_name='input')),
                ('output_usd', models.DecimalField(decimal_places=6, help_text='US dollars per million tokens written.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)], verbose_name='output')),
                ('cached_input_usd', models.DecimalField(blank=True, decimal_places=6, help_text='US dollars per million tokens read from a cache. Empty: as other input.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='cached input')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['workspace', 'model'],
            },
        ),
        migrations.AddField(
            model_name='agent',
            name='max_wall_seconds',
            field=models.PositiveIntegerField(blank=True, help_text="Seconds from the acceptance of a run to its end, time spent queued and waiting included. Empty: no limit.", null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddIndex(
            model_name='agentversion',
            index=models.Index(condition=models.Q(('snapshot__limits__has_key', 'max_wall_seconds')), fields=['id'], name='version_timed'),
        ),
        migrations.AddField(
            model_name='modelprice',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='model_prices', to='base.workspace'),
        ),
        migrations.AddConstraint(
            model_name='modelprice',
            constraint=models.UniqueConstraint(fields=('workspace', 'model'), name='model_price_once', violation_error_message='The workspace has a price of that model: change it.'),
        ),
        migrations.AddConstraint(
            model_name='modelprice',
            constraint=models.CheckConstraint(condition=models.Q(('input_usd__gte', 0), ('output_usd__gte', 0)), name='model_price_is_no_gain'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
