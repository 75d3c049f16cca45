"""A child may name its version, payload, conversation, model, queue or tool call."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0019_words_of_other_persons")]

    operations = [
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
