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
                ('name', models.CharField(help_text='What it is for, e.g. Monday sales report.', max_length=100)),
                ('task_type', models.CharField(choices=[('task', 'Task for the agent'), ('message', "Message in the schedule's conversation"), ('tool_call', "Call of one of the agent's tools")], default='task', help_text='A message goes to one conversation, so the agent knows what it said before.', max_length=16)),
                ('task', models.TextField(blank=True, default='', help_text='What the agent is asked to do each time.')),
                ('tool', models.CharField(blank=True, default='', help_text="For a tool call: the tool's name.", max_length=64)),
                ('arguments', models.JSONField(blank=True, default=dict, help_text='For a tool call: its arguments, a JSON object.')),
                ('kind', models.CharField(choices=[('cron', 'Cron expression'), ('interval', 'Interval'), ('once', 'Once')], default='cron', max_length=8)),
                ('cron', models.CharField(blank=True, default='', help_text='Minute hour day month weekday, e.g. 0 9 * * MON for Mondays at nine.', max_length=120, verbose_name='cron expression')),
                ('time_zone', models.CharField(default='UTC', help_text="Where nine o'clock is meant, e.g. Europe/Berlin.", max_length=60)),
                ('every_seconds', models.PositiveIntegerField(blank=True, help_text='For an interval: seconds between two firings.', null=True, validators=[django.core.validators.MinValueValidator(10)])),
                ('at', models.DateTimeField(blank=True, help_text='For a one-off: when.', null=True)),
                ('begins_at', models.DateTimeField(blank=True, help_text='Nothing fires before it; an interval counts from it. Empty: now.')),
                ('ends_at', models.DateTimeField(blank=True, help_text='Nothing fires after it. Empty: it never ends.', null=True)),
                ('catch_up', models.CharField(choices=[('none', 'None'), ('latest', 'Latest occurrence'), ('all', 'All occurrences')], default='latest', help_text='Handling of occurrences missed without a worker or in a halted workspace.', max_length=8, verbose_name='catch-up')),
                ('overlap', models.CharField(choices=[('skip', 'Skip'), ('queue', 'Queue'), ('parallel', 'Run in parallel')], default='skip', help_text='When it comes due while its last run is still at work.', max_length=8)),
                ('jitter_seconds', models.PositiveIntegerField(default=0, help_text='Each slot fires up to so many seconds late, so that not all begin at once.', validators=[django.core.validators.MaxValueValidator(3600)])),
                ('require_approval', models.BooleanField(default=False, help_text='Every tool call of its runs waits for a person.')),
                ('deliver', models.JSONField(blank=True, default=list)),
                ('enabled', models.BooleanField(default=True, help_text='A paused one lets its slots pass.')),
                ('conversation_id', models.UUIDField(editable=False, null=True, verbose_name='conversation')),
                ('next_occurrence', models.DateTimeField(editable=False, null=True)),
                ('next_at', models.DateTimeField(editable=False, null=True)),
                ('last_occurrence', models.DateTimeField(editable=False, null=True)),
                ('created_by', models.CharField(blank=True, default='', editable=False, max_length=200)),
                ('created_by_run_id', models.UUIDField(editable=False, null=True)),
                ('hops', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('agent', models.ForeignKey(help_text='Who does it.', on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='agents.agent')),
                ('periodic_task', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='django_celery_beat.periodictask')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='base.workspace')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Firing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scheduled_for', models.DateTimeField()),
                ('cause', models.CharField(choices=[('schedule', 'Schedule'), ('manual', 'Manual'), ('backfill', 'Backfill')], default='schedule', max_length=8)),
                ('status', models.CharField(choices=[('started', 'Started'), ('deferred', 'Deferred'), ('skipped', 'Skipped'), ('failed', 'Failed')], max_length=8)),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='run')),
                ('note', models.CharField(blank=True, default='', max_length=300)),
                ('first_deferred_at', models.DateTimeField(editable=False, null=True)),
                ('retry_at', models.DateTimeField(editable=False, null=True)),
                ('run_ended', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('schedule', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='firings', to='scheduling.schedule')),
            ],
            options={
                'ordering': ['-scheduled_for'],
            },
        ),
        migrations.AddIndex(
            model_name='schedule',
            index=models.Index(condition=models.Q(('enabled', True), ('next_at__isnull', False)), fields=['next_at'], name='schedule_due'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='schedule_name', violation_error_message='The workspace has a schedule of that name.'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'cron'), models.Q(('cron', ''), _negated=True)), models.Q(('every_seconds__gt', 0), ('kind', 'interval')), models.Q(('at__isnull', False), ('kind', 'once')), _connector='OR'), name='schedule_has_its_rhythm', violation_error_message='Give a cron expression, an interval in seconds, or a time, as the kind asks.'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('next_at__isnull', True), ('next_occurrence__isnull', True)), models.Q(('next_at__isnull', False), ('next_occurrence__isnull', False)), _connector='OR'), name='schedule_slot_with_time'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(('task_type__in', ['task', 'message', 'tool_call']), ('catch_up__in', ['none', 'latest', 'all']), ('overlap__in', ['skip', 'queue', 'parallel'])), name='schedule_words_known'),
        ),
        migrations.AddIndex(
            model_name='firing',
            index=models.Index(condition=models.Q(('status', 'deferred')), fields=['schedule', 'scheduled_for'], name='firing_held'),
        ),
        migrations.AddIndex(
            model_name='firing',
            index=models.Index(condition=models.Q(('run_ended', False), ('status', 'started')), fields=['schedule'], name='firing_at_work'),
        ),
        migrations.AddIndex(
            model_name='firing',
            index=models.Index(fields=['created_at'], name='firing_age'),
        ),
        migrations.AddConstraint(
            model_name='firing',
            constraint=models.UniqueConstraint(fields=('schedule', 'scheduled_for'), name='firing_once'),
        ),
        migrations.AddConstraint(
            model_name='firing',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'started'), _negated=True), ('run_id__isnull', False), _connector='OR'), name='firing_started_has_run'),
        ),
        migrations.AddConstraint(
            model_name='firing',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['started', 'deferred', 'skipped', 'failed']), ('cause__in', ['schedule', 'manual', 'backfill'])), name='firing_words_known'),
        ),
    ]
