from django.db import migrations, models


class Migration(migrations.Migration):
    """A journal says whether an agent or a person told a run something; what a run has read is found."""

    dependencies = [
        ('agents', '0015_channels'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='inboxentry',
            index=models.Index(condition=models.Q(('run_id__isnull', False)), fields=['run_id'], name='inbox_read_by'),
        ),
    ]
