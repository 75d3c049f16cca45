"""The history of a conversation has the pictures of its messages."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0029_run_words'),
    ]

    operations = [
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
