"""Results may be delivered as files of the drive."""

from django.db import migrations, models

from agents.runs.install import install

KINDS = ["email", "webhook", "artifact", "drive"]


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0036_prices_and_wall_time'),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='kind',
            field=models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook'), ('artifact', 'Artifact'), ('drive', 'Drive')], max_length=12),
        ),
        migrations.RemoveConstraint(model_name='delivery', name='delivery_kind_known'),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', KINDS)), name='delivery_kind_known'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
