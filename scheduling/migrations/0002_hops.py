from django.db import migrations, models


class Migration(migrations.Migration):
    """A schedule keeps what led to the run whose agent made it; those there are begin anew."""

    dependencies = [
        ('scheduling', '0001_schedules'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='hops',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
