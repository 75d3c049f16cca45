"""Words of runs, indexed for the search; built while the fleet works."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.fields.json
import django.db.models.functions.text
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):

    atomic = False  # an index is not built concurrently in a transaction

    dependencies = [
        ('agents', '0028_health'),
    ]

    operations = [
        # Of a build that was cut off.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS run_words', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='run',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('agent', django.db.models.functions.text.Left('task', 20000), django.db.models.functions.text.Left('output', 20000), django.db.models.fields.json.KT('error__message'), config='simple'), name='run_words'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False, atomic=True),
    ]
