"""The state store, whose entries go with their conversation."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0030_pictures'),
        ('base', '0004_saved_views'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='StateEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('agent', 'Agent'), ('conversation', 'Conversation'), ('workspace', 'Workspace')], max_length=16)),
                ('agent', models.CharField(blank=True, default='', max_length=64)),
                ('key', models.CharField(max_length=200)),
                ('value', models.JSONField(null=True)),
                ('author', models.CharField(max_length=200)),
                ('run_id', models.UUIDField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('conversation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='state', to='agents.conversation')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='state', to='base.workspace')),
            ],
            options={
                'verbose_name': 'state entry',
                'verbose_name_plural': 'state entries',
                'ordering': ['pk'],
                'indexes': [models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='state_expiring')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'agent', 'conversation', 'key'), name='state_key_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('scope__in', ['agent', 'conversation', 'workspace'])), name='state_scope_known'), models.CheckConstraint(condition=models.Q(models.Q(('agent', ''), ('conversation', None), ('scope', 'workspace')), models.Q(('conversation', None), ('scope', 'agent'), models.Q(('agent', ''), _negated=True)), models.Q(('agent', ''), ('conversation__isnull', False), ('scope', 'conversation')), _connector='OR'), name='state_scope_complete')],
            },
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
