from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0002_embeddings'),
    ]

    operations = [
        migrations.AddField(
            model_name='memoryitem',
            name='from_outsiders',
            field=models.BooleanField(db_default=False, default=False, editable=False, verbose_name='after text by outsiders'),
        ),
    ]
