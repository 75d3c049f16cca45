import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

# name, runs a day, tokens a month, US dollars a month, runs at once, days that runs are kept
TIERS = (
    ('free', 50, 1_000_000, 5, 2, 7),
    ('starter', 500, 10_000_000, 50, 5, 30),
    ('pro', 5_000, 100_000_000, 500, 20, 90),
    ('business', 50_000, 1_000_000_000, 5_000, 100, 365),
)


def create(apps, schema_editor):
    """Something to begin with; no workspace is given any."""
    tier = apps.get_model('base', 'Tier')
    for name, runs, tokens, usd, at_once, days in TIERS:
        tier.objects.create(
            name=name,
            runs_per_day=runs,
            tokens_per_month=tokens,
            usd_per_month=usd,
            runs_at_once=at_once,
            retention_days=days,
        )


class Migration(migrations.Migration):
    """Tiers, and a workspace's; none has one until an operator gives it one."""

    dependencies = [
        ('base', '0004_identity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tier',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(help_text='Such as starter.', max_length=40, unique=True)),
                ('runs_per_day', models.PositiveIntegerField(blank=True, help_text='The day begins at midnight UTC. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('tokens_per_month', models.PositiveBigIntegerField(blank=True, help_text='Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('usd_per_month', models.DecimalField(blank=True, decimal_places=4, help_text='Empty: no limit. Calls of unknown price count as nothing.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='US dollars per month')),
                ('runs_at_once', models.PositiveIntegerField(blank=True, help_text='Others wait until one of these ends or waits itself. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('retention_days', models.PositiveIntegerField(blank=True, help_text="Finished runs are archived and deleted after so many days; the workspace's own figure counts where it is smaller. Empty: as the workspace says.", null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('warn_at', models.PositiveSmallIntegerField(db_default=80, default=80, help_text='Percent of a limit from which on a warning is given, once in its period.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('runs_at_once__isnull', True), ('runs_at_once__gte', 1), _connector='OR'), name='tier_lets_something_run'),
                    models.CheckConstraint(condition=models.Q(('warn_at__gte', 1), ('warn_at__lte', 100)), name='tier_warns_in_percent'),
                ],
            },
        ),
        migrations.AddField(
            model_name='workspace',
            name='tier',
            field=models.ForeignKey(blank=True, help_text='What it may use. Empty: whatever it wants.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='workspaces', to='base.tier'),
        ),
        migrations.RunPython(create, migrations.RunPython.noop),
    ]
