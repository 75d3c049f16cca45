from django.db import migrations


class Migration(migrations.Migration):
    """It installed the SQL functions of its time; a later one installs today's."""

    dependencies = [
        ('agents', '0006_approvals'),
        ('base', '0004_identity'),
    ]

    operations = []
