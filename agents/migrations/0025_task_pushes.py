"""Receivers of the states of tasks (A2A)."""

import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.secret_text
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0023_messages_sent_along'),
        ('base', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='TaskPush',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('run_id', models.UUIDField(verbose_name='run')),
                ('name', models.CharField(max_length=200)),
                ('url', models.CharField(max_length=500)),
                ('token', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('scheme', models.CharField(blank=True, default='', max_length=50)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('decides', models.BooleanField(default=False)),
                ('mark', models.CharField(blank=True, default='', max_length=40)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='base.workspace')),
            ],
            options={
                'verbose_name': 'receiver of a task',
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='task_push_due'), models.Index(fields=['created_at'], name='task_push_age')],
                'constraints': [models.UniqueConstraint(fields=('run_id', 'name'), name='task_push_once'), models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='task_push_status_known')],
            },
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
