"""Install functions whose plans use the index of queued runs even after a burst of runs."""

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0017_fewer_writes")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
