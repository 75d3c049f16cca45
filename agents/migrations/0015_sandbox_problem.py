"""A worker's row says why no sandbox holds there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0014_binding_timeout")]

    operations = [
        migrations.AddField(
            model_name="workerheartbeat",
            name="sandbox_problem",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Reason why no sandbox holds there; probed about once a minute.",
                max_length=500,
            ),
        ),
    ]
