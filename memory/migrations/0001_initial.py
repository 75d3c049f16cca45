import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from memory.embeddings.table import add_column

def add_vectors(apps, schema_editor):
    """Add the columns of vectors where PostgreSQL has pgvector; see memory.embeddings.table."""
    add_column()


class Migration(migrations.Migration):
    """Memories, knowledge bases and collections."""

    initial = True

    dependencies = [
        ('base', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collections', to='base.workspace')),
                ('name', models.CharField(max_length=64)),
                ('dimensions', models.PositiveSmallIntegerField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='collection_name_once')],
            },
        ),
        migrations.CreateModel(
            name='CollectionItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('collection', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='memory.collection')),
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
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['search'], name='collection_search'), models.Index(fields=['language'], name='collection_language'), models.Index(fields=['collection', 'embedded_with'], name='collection_embedded')],
                'constraints': [models.UniqueConstraint(fields=('collection', 'key'), name='collection_key_once')],
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
        migrations.CreateModel(
            name='MemoryItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memories', to='base.workspace')),
                ('scope', models.CharField(choices=[('workspace', 'All agents of the workspace'), ('agent', 'One agent, for everyone'), ('person', 'One agent, for one person'), ('conversation', 'One conversation')], default='workspace', help_text='Reach: the runs that recall it.', max_length=16)),
                ('agent', models.CharField(blank=True, default='', help_text='Name of the agent that recalls it.', max_length=64)),
                ('user', models.ForeignKey(blank=True, help_text="Only this person's runs recall it.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
                ('conversation_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='conversation')),
                ('category', models.CharField(choices=[('fact', 'Fact'), ('decision', 'Decision'), ('preference', 'Preference'), ('todo', 'To-do'), ('learning', 'Learning'), ('context', 'Context'), ('summary', 'Summary')], default='fact', max_length=16)),
                ('text', models.TextField(help_text='One statement that is understood without its context.')),
                ('importance', models.PositiveSmallIntegerField(default=5, help_text='From 1, trivial, to 10, vital.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)])),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('language', models.CharField(editable=False, max_length=63)),
                ('search', django.contrib.postgres.search.SearchVectorField(editable=False)),
                ('embedded_with', models.CharField(blank=True, db_default='', default='', editable=False, max_length=200)),
                ('use_count', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
                ('from_outsiders', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='after text by outsiders')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('forgotten_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'memory',
                'verbose_name_plural': 'memories',
                'ordering': ['-id'],
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['search'], name='memory_search'), models.Index(fields=['workspace', 'scope', 'agent', 'user'], name='memory_owners'), models.Index(fields=['language'], name='memory_language'), models.Index(fields=['workspace', 'embedded_with'], name='memory_embedded')],
                'constraints': [models.CheckConstraint(condition=models.Q(('category__in', ['fact', 'decision', 'preference', 'todo', 'learning', 'context', 'summary'])), name='memory_category_known'), models.CheckConstraint(condition=models.Q(models.Q(('agent', ''), ('conversation_id__isnull', True), ('scope', 'workspace'), ('user', None)), models.Q(('conversation_id__isnull', True), ('scope', 'agent'), ('user', None), models.Q(('agent', ''), _negated=True)), models.Q(('conversation_id__isnull', True), ('scope', 'person'), ('user__isnull', False), models.Q(('agent', ''), _negated=True)), models.Q(('conversation_id__isnull', False), ('scope', 'conversation'), models.Q(('agent', ''), _negated=True)), _connector='OR'), name='memory_scope_complete'), models.CheckConstraint(condition=models.Q(('importance__range', (1, 10))), name='memory_importance_in_range')],
            },
        ),
        migrations.CreateModel(
            name='MemoryChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='memory.memoryitem')),
                ('kind', models.CharField(choices=[('remembered', 'Remembered'), ('superseded', 'Superseded'), ('forgotten', 'Forgotten')], max_length=16)),
                ('before', models.JSONField(null=True)),
                ('reason', models.TextField(blank=True, default='')),
                ('author', models.CharField(max_length=200)),
                ('run_id', models.UUIDField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('undone_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'change of a memory',
                'verbose_name_plural': 'history',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='MemoryEmbedding',
            fields=[
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='embedding', serialize=False, to='memory.memoryitem')),
            ],
            options={
                'db_table': 'memory_embedding',
            },
        ),
        migrations.CreateModel(
            name='MemoryPolicy',
            fields=[
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='memory_policy', serialize=False, to='base.workspace')),
                ('embedding_model', models.CharField(blank=True, default='', help_text='local, or provider:model of an enabled provider account, such as openai:text-embedding-3-small, which is then sent all memories and documents. Empty: words alone are found.', max_length=200)),
                ('dimensions', models.PositiveSmallIntegerField(editable=False, null=True)),
                ('problem', models.TextField(blank=True, default='', editable=False)),
                ('kept_days', models.PositiveSmallIntegerField(blank=True, choices=[(7, '7 days'), (30, '30 days'), (90, '90 days')], help_text='Time until a memory that was neither changed nor recalled is erased for good. Empty: never.', null=True, verbose_name='kept')),
            ],
            options={
                'verbose_name': 'memory settings',
                'verbose_name_plural': 'memory settings',
                'ordering': ['workspace'],
                'constraints': [models.CheckConstraint(condition=models.Q(('kept_days__in', [7, 30, 90])), name='memory_kept_days_known')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeBase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='knowledge_bases', to='base.workspace')),
                ('name', models.CharField(help_text='Name by which agents are given it, such as handbook.', max_length=64)),
                ('description', models.CharField(blank=True, default='', help_text='Subject of its documents.', max_length=300)),
                ('drive_folder', models.CharField(blank=True, db_default='', default='', help_text="Folder of the workspace's drive whose files are taken up, such as handbook. Empty: none.", max_length=500)),
                ('drive_requested_at', models.DateTimeField(editable=False, null=True)),
                ('drive_claimed_until', models.DateTimeField(editable=False, null=True)),
                ('drive_checked_at', models.DateTimeField(editable=False, null=True)),
                ('drive_problem', models.CharField(blank=True, db_default='', default='', editable=False, max_length=500)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'verbose_name': 'knowledge base',
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='knowledge_base_name_once')],
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('base', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memory.knowledgebase')),
                ('name', models.CharField(max_length=200)),
                ('kind', models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown'), ('html', 'HTML'), ('pdf', 'PDF'), ('docx', 'DOCX')], max_length=16)),
                ('hash', models.CharField(editable=False, max_length=64)),
                ('size', models.PositiveIntegerField(editable=False)),
                ('source', models.CharField(blank=True, default='', help_text='Origin, such as a URL; for people.', max_length=500)),
                ('drive_file', models.CharField(blank=True, db_default='', default='', editable=False, max_length=500)),
                ('state', models.CharField(choices=[('queued', 'Waits to be read'), ('reading', 'Being read'), ('ready', 'Ready'), ('failed', 'Could not be read')], default='queued', editable=False, max_length=16)),
                ('language', models.CharField(blank=True, default='', editable=False, max_length=63)),
                ('pages', models.PositiveIntegerField(editable=False, null=True)),
                ('pages_read', models.PositiveIntegerField(default=0, editable=False)),
                ('passage_count', models.PositiveIntegerField(default=0, editable=False)),
                ('problem', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('claim', models.PositiveIntegerField(default=0, editable=False)),
                ('claimed_until', models.DateTimeField(editable=False, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('touched_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'reading'])), fields=['touched_at'], name='document_to_read')],
                'constraints': [models.UniqueConstraint(fields=('base', 'name'), name='document_name_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['text', 'markdown', 'html', 'pdf', 'docx'])), name='document_kind_known'), models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'reading', 'ready', 'failed'])), name='document_state_known')],
            },
        ),
        migrations.CreateModel(
            name='DocumentContent',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='content', serialize=False, to='memory.document')),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='memory.document')),
                ('base', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.knowledgebase')),
                ('position', models.PositiveIntegerField()),
                ('page', models.PositiveIntegerField(null=True)),
                ('headings', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('text', models.TextField()),
                ('language', models.CharField(max_length=63)),
                ('search', django.contrib.postgres.search.SearchVectorField()),
                ('embedded_with', models.CharField(db_default='', default='', max_length=200)),
            ],
            options={
                'ordering': ['document', 'position'],
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['search'], name='passage_search'), models.Index(fields=['language'], name='passage_language'), models.Index(fields=['base', 'embedded_with'], name='passage_embedded')],
                'constraints': [models.UniqueConstraint(fields=('document', 'position'), name='passage_position_once')],
            },
        ),
        migrations.CreateModel(
            name='PassageEmbedding',
            fields=[
                ('passage', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='embedding', serialize=False, to='memory.passage')),
            ],
            options={
                'db_table': 'memory_passage_embedding',
            },
        ),
        migrations.RunPython(add_vectors, migrations.RunPython.noop),
    ]
