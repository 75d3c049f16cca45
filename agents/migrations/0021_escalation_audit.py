from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    """An escalation writes an audit entry."""

    dependencies = [
        ('agents', '0020_own_pauses'),
    ]

    operations = [
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
