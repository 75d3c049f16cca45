"""Budgets of persons and schedules, which ask an owner before they are spent."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0031_review'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='budget',
            name='budget_once',
        ),
        migrations.AddField(
            model_name='budget',
            name='allowed_period',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='budget',
            name='ask_at',
            field=models.PositiveSmallIntegerField(blank=True, help_text='Usage in percent of a limit at which runs wait until an owner lets them go on, once per period. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AddField(
            model_name='budget',
            name='person',
            field=models.ForeignKey(blank=True, help_text="Person whose runs count. Empty: everyone's.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='budget',
            name='schedule',
            field=models.CharField(blank=True, db_default='', default='', help_text='Name of the schedule whose runs count. Empty: all runs.', max_length=100),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.UniqueConstraint(models.F('workspace'), models.F('agent'), models.F('person'), models.F('schedule'), models.F('period'), models.F('from_tier'), name='budget_once', nulls_distinct=False),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
