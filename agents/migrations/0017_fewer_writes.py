"""The functions journal an answer with its suspension, and claim with a sub-agent's end."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0016_memory_providers")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
