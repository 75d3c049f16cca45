from django.db import migrations, models


class Migration(migrations.Migration):
    """A run knows how many plans of agents in a row led to it."""

    dependencies = [
        ('agents', '0016_words_of_agents'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='hops',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
