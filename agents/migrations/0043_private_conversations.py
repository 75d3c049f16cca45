"""Conversations that only their owner reads, and their runs."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0042_runs_by_agent'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='private_to',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='run',
            name='private_to',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
