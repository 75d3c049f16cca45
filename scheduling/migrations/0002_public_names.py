from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0001_initial'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='firing',
            name='firing_words_known',
        ),
        migrations.RemoveConstraint(
            model_name='schedule',
            name='schedule_words_known',
        ),
        migrations.RemoveIndex(
            model_name='firing',
            name='firing_held',
        ),
        migrations.RenameField('schedule', 'missed', 'catch_up'),
        migrations.RenameField('schedule', 'approve', 'require_approval'),
        migrations.AlterField(
            model_name='firing',
            name='cause',
            field=models.CharField(choices=[('schedule', 'Schedule'), ('manual', 'Manual'), ('backfill', 'Backfill')], default='schedule', max_length=8),
        ),
        migrations.AlterField(
            model_name='firing',
            name='status',
            field=models.CharField(choices=[('started', 'Started'), ('deferred', 'Deferred'), ('skipped', 'Skipped'), ('failed', 'Failed')], max_length=8),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='catch_up',
            field=models.CharField(choices=[('none', 'Skip them'), ('latest', 'Run the last one'), ('all', 'Run all of them')], default='latest', help_text='When nothing could fire for a while: no worker, or the workspace was stopped.', max_length=8, verbose_name='missed slots'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='task_type',
            field=models.CharField(choices=[('task', 'A task for the agent'), ('message', "A message on the schedule's conversation"), ('tool_call', "A call of one of the agent's tools")], default='task', help_text='A message goes to one conversation, so the agent knows what it said before.', max_length=16),
        ),
        migrations.AddIndex(
            model_name='firing',
            index=models.Index(condition=models.Q(('status', 'deferred')), fields=['schedule', 'slot'], name='firing_held'),
        ),
        migrations.AddConstraint(
            model_name='firing',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['started', 'deferred', 'skipped', 'failed']), ('cause__in', ['schedule', 'manual', 'backfill'])), name='firing_words_known'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(('task_type__in', ['task', 'message', 'tool_call']), ('catch_up__in', ['none', 'latest', 'all']), ('overlap__in', ['skip', 'queue', 'parallel'])), name='schedule_words_known'),
        ),
    ]
