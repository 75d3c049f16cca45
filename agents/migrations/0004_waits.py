from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_run_kind")]

    operations = [
        migrations.AlterField("wait", "kind", models.CharField(max_length=16)),
        migrations.AddField(
            "wait", "asks_person", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField("wait", "child_id", models.UUIDField(null=True, blank=True)),
        migrations.AddConstraint(
            "wait", models.UniqueConstraint(fields=["child_id"], name="wait_once_per_child")
        ),
        migrations.AddIndex(
            "wait",
            models.Index(
                fields=["run"],
                condition=models.Q(asks_person=True, resolved_at__isnull=True),
                name="wait_for_people",
            ),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
