"""Figures of hours that the lists of agents and workflows read; all hours are rolled up again."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0040_chat_apps'),
    ]

    operations = [
        migrations.AddField(
            model_name='hourlyfigures',
            name='input_tokens',
            field=models.PositiveBigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='hourlyfigures',
            name='seconds',
            field=models.FloatField(db_default=0),
        ),
        migrations.AddField(
            model_name='hourlyfigures',
            name='succeeded',
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='hourlyfigures',
            name='tree_cost_usd',
            field=models.DecimalField(db_default=0, decimal_places=8, max_digits=14),
        ),
        migrations.AddField(
            model_name='hourlyfigures',
            name='tree_unpriced',
            field=models.PositiveIntegerField(db_default=0),
        ),
        # No release has written any: Beat writes them again, with the new columns.
        migrations.RunSQL('DELETE FROM agents_hourlyfigures', migrations.RunSQL.noop),
    ]
