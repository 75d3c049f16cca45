"""Claims are planned for their indexes whatever a flood has left of these."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0017_fewer_writes")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
