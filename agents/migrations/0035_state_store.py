"""The state store, whose entries go with their conversation; the switch of an agent's memory."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0034_erased_texts'),
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
        migrations.AddField(
            model_name='agent',
            name='memory',
            field=models.BooleanField(db_default=False, default=False, help_text='Remember across runs: give the model what it remembers of the task, and store what is worth remembering after each run, as the settings below say or with their usual values.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='memory_tokens',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='Tokens of memories that fit the task best, which the model is given at the start of a run. 0: none, or 1,000 if memory is on.', validators=[django.core.validators.MaxValueValidator(100000)]),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
