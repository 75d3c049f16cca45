"""How long a tier keeps memories."""


import django.core.validators
from django.db import migrations, models


DAYS = {'free': 7, 'starter': 30, 'pro': 90}  # business: for ever


def limit_tiers(apps, schema_editor):
    """Limit the first tiers, unless workspaces have them: an upgrade erases no one's memories."""
    tiers = apps.get_model('base', 'Tier').objects
    for name, days in DAYS.items():
        tiers.filter(name=name, workspaces=None).update(memory_days=days)


class Migration(migrations.Migration):

    dependencies = [
        ('base', '0004_saved_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='tier',
            name='memory_days',
            field=models.PositiveIntegerField(blank=True, help_text="Days until a memory that was neither changed nor recalled is erased for good; a smaller value of the workspace's memory settings has precedence. Empty: never.", null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='days that memories are kept'),
        ),
        migrations.RunPython(limit_tiers, migrations.RunPython.noop),
    ]
