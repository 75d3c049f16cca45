from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.RemoveIndex(model_name="toolcall", name="call_waiting"),
        # Room on each page for the next versions of its rows, as in agents_run.
        migrations.RunSQL(
            "ALTER TABLE agents_toolcall SET (fillfactor = 70)", migrations.RunSQL.noop
        ),
    ]
