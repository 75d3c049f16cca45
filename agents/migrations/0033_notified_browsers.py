"""Browsers that notify their person, and the key by which push services know Heartbit."""

import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0032_budgets_ask'),
        ('base', '0004_saved_views'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PushKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public', models.CharField(max_length=100)),
                ('private', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='NotifiedBrowser',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('endpoint', models.CharField(max_length=1000)),
                ('public', models.CharField(max_length=100)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='base.workspace')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='notified_browser_due')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'endpoint'), name='notified_browser_once'), models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='notified_browser_status_known')],
            },
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
