from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0005_pauses'),
        ('base', '0004_identity'),
    ]

    operations = [
    ]
