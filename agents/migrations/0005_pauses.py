from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_durability'),
        ('base', '0004_identity'),
    ]

    operations = [
    ]
