from django.db import migrations, models


class Migration(migrations.Migration):
    """A wait keeps the patience that it had at first, however often it begins anew."""

    dependencies = [
        ('agents', '0018_turns'),
    ]

    operations = [
        migrations.AddField(
            model_name='wait',
            name='patience_seconds',
            field=models.FloatField(blank=True, null=True),
        ),
        # Of those that began anew before, the first patience is not known any more.
        migrations.RunSQL(
            "UPDATE agents_wait SET patience_seconds = extract(epoch FROM expires_at - created_at)"
            " WHERE resolved_at IS NULL AND expires_at IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
