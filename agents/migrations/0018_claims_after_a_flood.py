"""Functions whose plans use the index of queued runs even after a burst of runs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0017_fewer_writes")]

    operations = []
