"""Drafts of agents, and the note and the author of a version."""

import django.db.models.deletion
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0025_task_pushes'),
    ]

    operations = [
        migrations.AddField(
            model_name='agentversion',
            name='note',
            field=models.CharField(blank=True, db_default='', default='', max_length=500),
        ),
        migrations.AddField(
            model_name='agentversion',
            name='published_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.CreateModel(
            name='AgentDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('base', models.PositiveIntegerField(blank=True, null=True)),
                ('saved_by', models.CharField(max_length=200)),
                ('saved_at', models.DateTimeField(auto_now=True)),
                ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='draft', to='agents.agent')),
                ('row', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.agent')),
            ],
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
