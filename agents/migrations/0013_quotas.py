import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Quotas of tiers, runs a minute of an agent, and an order of claims that is fair."""

    dependencies = [
        ('agents', '0012_messages'),
        ('base', '0005_tiers'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='max_runs_per_minute',
            field=models.PositiveIntegerField(blank=True, help_text='Runs that may be started in a minute, not counting those that orchestrators give it. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='budget',
            name='of_tier',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='budget',
            name='warn_at',
            field=models.PositiveSmallIntegerField(db_default=80, default=80, help_text='Percent of a limit from which on a warning is given, once in its period.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AddField(
            model_name='budget',
            name='warned_for',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='budget',
            name='stopped_for',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.RemoveConstraint(model_name='budget', name='budget_once'),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.UniqueConstraint(models.F('workspace'), models.F('agent'), models.F('period'), models.F('of_tier'), name='budget_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('warn_at__gte', 1), ('warn_at__lte', 100)), name='budget_warns_in_percent'),
        ),
        migrations.CreateModel(
            name='RunCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('runs', models.PositiveIntegerField(db_default=0, default=0)),
                ('warned_for', models.DateTimeField(blank=True, null=True)),
                ('stopped_for', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='run_counts', to='agents.agent')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='run_counts', to='base.workspace')),
            ],
            options={
                'ordering': ['workspace', 'agent'],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'agent'), name='run_count_once', nulls_distinct=False),
                ],
            },
        ),
        # Which workspaces wait is what a fair claim asks first; each is then served in its order.
        migrations.RemoveIndex(model_name='run', name='run_claimable'),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.OrderBy(models.F('priority'), descending=True), models.F('workspace'), models.F('available_at'), condition=models.Q(('home', 'fleet'), ('status', 'queued')), name='run_claimable'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.OrderBy(models.F('priority'), descending=True), models.F('workspace'), models.F('id'), condition=models.Q(('home', 'fleet'), ('status', 'queued'), models.Q(('parent__isnull', False), ('started_at__isnull', False), _connector='OR')), name='run_begun'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('home', 'fleet'), ('status', 'running')), fields=['workspace'], name='run_at_work'),
        ),
    ]
