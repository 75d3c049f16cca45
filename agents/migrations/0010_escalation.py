import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    """A call that nobody decides goes to more people; a decision holds while its maker may decide."""

    dependencies = [
        ('agents', '0009_started_by'),
    ]

    operations = [
        migrations.AddField(
            model_name='toolbinding',
            name='escalate_minutes',
            field=models.PositiveIntegerField(blank=True, help_text='A call that nobody decides for so long goes to more people. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='toolbinding',
            name='escalate_group',
            field=models.CharField(blank=True, db_default='', default='', help_text='Its members may then decide as well. Empty: whoever may decide at all.', max_length=150),
        ),
        migrations.AddField(
            model_name='wait',
            name='escalates_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='wait',
            name='escalated_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('escalated_at__isnull', True), ('escalates_at__isnull', False), ('resolved_at__isnull', True)), fields=['escalates_at'], name='wait_escalating'),
        ),
        migrations.RemoveConstraint(model_name='decision', name='decision_verdict_known'),
        migrations.AlterField(
            model_name='decision',
            name='verdict',
            field=models.CharField(choices=[('approved', 'Approved'), ('edited', 'Approved with other arguments'), ('answered', 'Answered'), ('denied', 'Denied'), ('retried', 'Make it again'), ('done', 'It took effect'), ('skipped', 'Leave it')], max_length=8),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['approved', 'edited', 'answered', 'denied', 'retried', 'done', 'skipped'])), name='decision_verdict_known'),
        ),
        # Room on each page for the next versions of its rows: a batch of events changes no indexed
        # column of its run, and then writes no index either.
        migrations.RunSQL('ALTER TABLE agents_run SET (fillfactor = 60)', migrations.RunSQL.noop),
    ]
