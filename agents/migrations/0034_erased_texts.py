"""An erasure may replace texts of a person in journals, and the name of a version's author."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0033_notified_browsers'),
    ]

    operations = [
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
