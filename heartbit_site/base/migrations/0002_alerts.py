"""Alert rules keep their state; the audit is also read by time."""

import django.contrib.postgres.indexes
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('base', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('evaluated_at', models.DateTimeField(null=True)),
                ('alerts', models.JSONField(default=dict)),
                ('readings', models.JSONField(default=dict)),
                ('unsent', models.JSONField(default=list)),
                ('mail_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['at'], name='audit_age'),
        ),
    ]
