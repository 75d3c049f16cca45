from django.db import migrations


class Migration(migrations.Migration):
    """An escalation writes an audit entry: its SQL is installed by a later migration."""

    dependencies = [
        ('agents', '0020_own_pauses'),
    ]

    operations = []
