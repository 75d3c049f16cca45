import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    """Schedules and their firings."""

    initial = True

    dependencies = [
        ('agents', '0001_initial'),
        ('base', '0001_initial'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='base.workspace')),
                ('name', models.CharField(help_text='Name in lists, e.g. Monday sales report.', max_length=100)),
                ('agent', models.ForeignKey(help_text='Agent that runs.', on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='agents.agent')),
                ('task_type', models.CharField(choices=[('task', 'Task for the agent'), ('message', "Message in the schedule's conversation"), ('tool_call', "Call of one of the agent's tools"), ('workflow', 'Run of a workflow with data')], default='task', help_text='Messages go to one conversation, so the agent knows its earlier answers.', max_length=16)),
                ('task', models.TextField(blank=True, default='', help_text='Task of the agent, the same for each run.')),
                ('tool', models.CharField(blank=True, default='', help_text='Name of the tool, for a tool call.', max_length=64)),
                ('arguments', models.JSONField(blank=True, default=dict, help_text='Arguments of a tool call: a JSON object.')),
                ('input', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='Input of a workflow: a JSON object.')),
                ('kind', models.CharField(choices=[('cron', 'Cron expression'), ('interval', 'Interval'), ('once', 'Once')], default='cron', max_length=8)),
                ('cron', models.CharField(blank=True, default='', help_text='Minute hour day month weekday, e.g. 0 9 * * MON for Mondays at nine.', max_length=120, verbose_name='cron expression')),
                ('time_zone', models.CharField(default='UTC', help_text='IANA time zone of the cron expression, e.g. Europe/Berlin.', max_length=60)),
                ('every_seconds', models.PositiveIntegerField(blank=True, help_text='Seconds between two firings, for an interval.', null=True, validators=[django.core.validators.MinValueValidator(10)])),
                ('at', models.DateTimeField(blank=True, help_text='Time of the only firing, for a one-off.', null=True)),
                ('begins_at', models.DateTimeField(blank=True, help_text='Earliest firing; an interval counts from it. Empty: now.')),
                ('ends_at', models.DateTimeField(blank=True, help_text='Latest firing. Empty: no end.', null=True)),
                ('catch_up', models.CharField(choices=[('none', 'None'), ('latest', 'Latest firing'), ('all', 'All firings')], default='latest', help_text='Handling of firings missed without a worker or in a halted workspace.', max_length=8, verbose_name='catch-up')),
                ('overlap', models.CharField(choices=[('skip', 'Skip'), ('queue', 'Queue'), ('parallel', 'Run in parallel')], default='skip', help_text='Policy for a firing while the previous run is active.', max_length=8)),
                ('jitter_seconds', models.PositiveIntegerField(default=0, help_text='Random delay of each firing in seconds, so that not all start together.', validators=[django.core.validators.MaxValueValidator(3600)])),
                ('require_approval', models.BooleanField(default=False, help_text='Every tool call of its runs needs approval.')),
                ('review', models.CharField(blank=True, db_default='', default='', help_text='People who see each result before it is delivered, unless the agent names its own: anyone (who may decide), group:NAME or person:USERNAME. Empty: no one.', max_length=160)),
                ('cost_brake', models.PositiveSmallIntegerField(blank=True, help_text='Pause it once a run costs more than this many times the median of the ten before. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(2), django.core.validators.MaxValueValidator(1000)])),
                ('braked_run_id', models.UUIDField(editable=False, null=True)),
                ('test', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='Decides each firing before a model is asked: {tool, arguments} or {workflow, input}, a condition `when` on `result` and `last`, and `on_error`: run or skip. Empty: none.')),
                ('deliver', models.JSONField(blank=True, default=list)),
                ('enabled', models.BooleanField(default=True, help_text='While paused, firings are skipped and not caught up later.')),
                ('conversation_id', models.UUIDField(editable=False, null=True, verbose_name='conversation')),
                ('next_occurrence', models.DateTimeField(editable=False, null=True)),
                ('next_at', models.DateTimeField(editable=False, null=True)),
                ('last_occurrence', models.DateTimeField(editable=False, null=True)),
                ('created_by', models.CharField(blank=True, default='', editable=False, max_length=200)),
                ('created_by_run_id', models.UUIDField(editable=False, null=True)),
                ('hops', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('periodic_task', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='django_celery_beat.periodictask')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['name'],
                'indexes': [models.Index(condition=models.Q(('enabled', True), ('next_at__isnull', False)), fields=['next_at'], name='schedule_due')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='schedule_name', violation_error_message='The workspace has a schedule of that name.'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'cron'), models.Q(('cron', ''), _negated=True)), models.Q(('every_seconds__gt', 0), ('kind', 'interval')), models.Q(('at__isnull', False), ('kind', 'once')), _connector='OR'), name='schedule_has_its_rhythm', violation_error_message='Give a cron expression, an interval in seconds, or a time, as the kind asks.'), models.CheckConstraint(condition=models.Q(models.Q(('next_at__isnull', True), ('next_occurrence__isnull', True)), models.Q(('next_at__isnull', False), ('next_occurrence__isnull', False)), _connector='OR'), name='schedule_slot_with_time'), models.CheckConstraint(condition=models.Q(('task_type__in', ['task', 'message', 'tool_call', 'workflow']), ('catch_up__in', ['none', 'latest', 'all']), ('overlap__in', ['skip', 'queue', 'parallel'])), name='schedule_words_known')],
            },
        ),
        migrations.CreateModel(
            name='Firing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('schedule', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='firings', to='scheduling.schedule')),
                ('scheduled_for', models.DateTimeField()),
                ('cause', models.CharField(choices=[('schedule', 'Schedule'), ('manual', 'Manual'), ('backfill', 'Backfill'), ('test', 'Test')], default='schedule', max_length=8)),
                ('status', models.CharField(choices=[('started', 'Started'), ('deferred', 'Deferred'), ('skipped', 'Skipped'), ('failed', 'Failed')], max_length=8)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='run')),
                ('test_run_id', models.UUIDField(editable=False, null=True, verbose_name="test's run")),
                ('note', models.CharField(blank=True, default='', max_length=300)),
                ('first_deferred_at', models.DateTimeField(editable=False, null=True)),
                ('retry_at', models.DateTimeField(editable=False, null=True)),
                ('run_ended', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['-scheduled_for'],
                'indexes': [models.Index(condition=models.Q(('status', 'deferred')), fields=['schedule', 'scheduled_for'], name='firing_held'), models.Index(condition=models.Q(('run_ended', False), ('status', 'started')), fields=['schedule'], name='firing_at_work'), models.Index(fields=['created_at'], name='firing_age'), models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id'], name='firing_run')],
                'constraints': [models.UniqueConstraint(fields=('schedule', 'scheduled_for'), name='firing_once'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'started'), _negated=True), ('run_id__isnull', False), _connector='OR'), name='firing_started_has_run'), models.CheckConstraint(condition=models.Q(('status__in', ['started', 'deferred', 'skipped', 'failed']), ('cause__in', ['schedule', 'manual', 'backfill', 'test'])), name='firing_words_known')],
            },
        ),
    ]
