import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# A pinned hash means one definition for good.
GUARD = """
CREATE FUNCTION tools_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'HB003';
END $$;
CREATE TRIGGER tools_append_only BEFORE UPDATE ON tools_tooldefinition
    FOR EACH ROW EXECUTE FUNCTION tools_refuse_update();
"""
NO_GUARD = """
DROP TRIGGER tools_append_only ON tools_tooldefinition;
DROP FUNCTION tools_refuse_update();
"""


class Migration(migrations.Migration):
    """Tool definitions and the catalogue."""

    initial = True

    dependencies = [
        ('base', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ToolDefinition',
            fields=[
                ('hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('description', models.TextField()),
                ('parameters', models.TextField()),
                ('effect', models.CharField(max_length=16)),
                ('answer_parameter', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['name', 'created_at'],
            },
        ),
        migrations.CreateModel(
            name='CatalogueTool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64)),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('origin', models.CharField(max_length=16)),
                ('source', models.TextField(blank=True, default='')),
                ('credentials', models.JSONField(blank=True, default=list)),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='base.workspace')),
                ('definition', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='tools.tooldefinition')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='catalogue_name_once', nulls_distinct=False)],
            },
        ),
        migrations.RunSQL(GUARD, NO_GUARD),
    ]
