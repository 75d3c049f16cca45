from django.db import migrations

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0006_approvals'),
        ('base', '0004_identity'),
    ]

    operations = [
        # In the same transaction: the former functions do not know the new columns.
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
