"""The journal's functions; the newest migration of them installs them all."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial"), ("base", "0001_initial")]

    operations = []
