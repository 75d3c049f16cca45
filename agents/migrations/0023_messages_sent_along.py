"""A request may bring the earlier messages of a client, and the form of the answer."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0022_waits_that_stay_open")]

    operations = [
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
