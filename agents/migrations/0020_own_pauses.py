from django.db import migrations, models


class Migration(migrations.Migration):
    """Stops that operators placed, and a workspace's own; those there are may be either: operators'."""

    dependencies = [
        ('agents', '0019_patience'),
        ('base', '0005_tiers'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='pause',
            name='pause_once',
        ),
        migrations.AddField(
            model_name='pause',
            name='by_operator',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.UniqueConstraint(fields=('kind', 'queue', 'workspace', 'tool', 'by_operator'), name='pause_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.CheckConstraint(condition=models.Q(('by_operator', True), ('workspace__isnull', False), _connector='OR'), name='pause_own_is_in_its_workspace'),
        ),
    ]
