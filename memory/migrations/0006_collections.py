"""Vector collections."""


import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from memory.embeddings.table import add_column, require_index


def add_vectors(apps, schema_editor):
    """Add the vectors of items, with the indexes of the models that are in use."""
    if add_column():
        for size in set(
            apps.get_model("memory", "MemoryPolicy")
            .objects.exclude(dimensions=None)
            .values_list("dimensions", flat=True)
        ):
            require_index(size)


class Migration(migrations.Migration):

    dependencies = [
        ('base', '0005_tier_memory_days'),
        ('memory', '0005_drive_folders'),
    ]

    operations = [
        migrations.CreateModel(
            name='CollectionItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('text', models.TextField(blank=True)),
                ('metadata', models.JSONField(default=dict)),
                ('language', models.CharField(max_length=63)),
                ('search', django.contrib.postgres.search.SearchVectorField()),
                ('embedded_with', models.CharField(db_default='', default='', max_length=200)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'verbose_name': 'item of a collection',
                'verbose_name_plural': 'items of collections',
                'ordering': ['collection', 'key'],
            },
        ),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64)),
                ('dimensions', models.PositiveSmallIntegerField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collections', to='base.workspace')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='CollectionEmbedding',
            fields=[
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='embedding', serialize=False, to='memory.collectionitem')),
            ],
            options={
                'db_table': 'memory_collection_embedding',
            },
        ),
        migrations.AddField(
            model_name='collectionitem',
            name='collection',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='memory.collection'),
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='collection_name_once'),
        ),
        migrations.AddIndex(
            model_name='collectionitem',
            index=django.contrib.postgres.indexes.GinIndex(fields=['search'], name='collection_search'),
        ),
        migrations.AddIndex(
            model_name='collectionitem',
            index=models.Index(fields=['language'], name='collection_language'),
        ),
        migrations.AddIndex(
            model_name='collectionitem',
            index=models.Index(fields=['collection', 'embedded_with'], name='collection_embedded'),
        ),
        migrations.AddConstraint(
            model_name='collectionitem',
            constraint=models.UniqueConstraint(fields=('collection', 'key'), name='collection_key_once'),
        ),
        migrations.RunPython(add_vectors, migrations.RunPython.noop),
    ]
