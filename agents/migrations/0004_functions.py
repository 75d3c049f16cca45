"""Install the journal's functions anew: approvals, conversations, structured answers."""

from __future__ import annotations

from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_approvals_and_conversations"), ("base", "0002_accounts")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop, elidable=False)]
