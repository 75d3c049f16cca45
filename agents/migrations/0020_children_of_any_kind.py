"""A child may name its version, payload, conversation, model, queue or tool call.

The SQL functions are installed by a later migration.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0019_words_of_other_persons")]

    operations: list[migrations.operations.base.Operation] = []
