import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.secret_text
from django.conf import settings
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
    """Tool definitions, the catalogue, credentials and servers of tools."""

    initial = True

    dependencies = [
        ('base', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='McpServer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mcp_servers', to='base.workspace')),
                ('name', models.CharField(help_text="Its tools' names begin with it.", max_length=24)),
                ('transport', models.CharField(choices=[('http', 'HTTP (Streamable HTTP)'), ('stdio', 'A program on the workers (stdio)'), ('openapi', 'An API with an OpenAPI document')], default='http', max_length=8)),
                ('protocol', models.CharField(choices=[('mcp', 'MCP: a server of tools'), ('a2a', 'A2A: a remote agent')], db_default='mcp', default='mcp', help_text='Protocol at the URL: mcp, of a server of tools; a2a, of a remote agent, which is one tool; the URL is that of its card.', max_length=8)),
                ('url', models.CharField(blank=True, help_text='Address of a server that speaks HTTP, e.g. https://mcp.example.com/mcp. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST. Of an API with an OpenAPI document: where its paths begin; empty: as the document says.', max_length=500, verbose_name='URL')),
                ('command', models.CharField(blank=True, help_text='Name of a program in HEARTBIT_MCP_COMMANDS, which an administrator sets; instead of a URL.', max_length=64, verbose_name='program')),
                ('credential', models.CharField(blank=True, help_text="Name of a credential for the URL. A person's own credential of this name is used for their runs. Empty: none. If people sign in: name of the OAuth app to do so with.", max_length=64)),
                ('sign_in', models.BooleanField(db_default=False, default=False, help_text="People sign in to the server in the browser (OAuth). A call has the sign-in of the person behind it, or else the workspace's.", verbose_name='people sign in')),
                ('trusted', models.BooleanField(default=False, help_text="Believe the server's hints that a tool only reads, may be repeated, or reaches nothing beyond the server.")),
                ('private_data', models.BooleanField(db_default=True, default=True, help_text='The server has data of the workspace or of people, such as a mailbox or a database: once text by outsiders was read too, a call that sends data elsewhere waits for a person.', verbose_name='holds private data')),
                ('shared', models.BooleanField(db_default=False, default=False, help_text="Outsiders write or read there, too, as in a mailbox, a ticket queue or a public repository: private data that came from it goes back to it only with a person's consent.", verbose_name='shared with outsiders')),
                ('openapi', models.CharField(blank=True, db_default='', default='', help_text='Address of an OpenAPI document (3.0 or 3.1, JSON or YAML), whose operations become tools; instead of an MCP server.', max_length=500, verbose_name='OpenAPI document')),
                ('document', models.TextField(blank=True, db_default='', default='', help_text='Text of an OpenAPI document; instead of its address.', verbose_name='document')),
                ('operations', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Operations of the OpenAPI document that are tools, by operationId, or by method and path (GET /pets).')),
                ('effects', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, help_text='Effects of operations whose method says another: GET is pure, PUT and DELETE are idempotent, POST and PATCH at_most_once. Such as {"updateIssue": "idempotent"}.')),
                ('idempotency_header', models.CharField(blank=True, db_default='', default='', help_text='Header by which the API knows a repeated call, sent with every call that has an effect. Empty: Idempotency-Key, for operations whose document names it.', max_length=100)),
                ('offered', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False)),
                ('timeout_seconds', models.PositiveSmallIntegerField(default=60, help_text='Seconds that one call may take.', verbose_name='timeout')),
                ('enabled', models.BooleanField(default=True, help_text="A disabled server's tools are not called.")),
                ('facts', models.JSONField(blank=True, default=dict, editable=False)),
                ('needs_refresh', models.BooleanField(default=False, editable=False)),
                ('refreshed_at', models.DateTimeField(editable=False, null=True)),
                ('refresh_ok', models.BooleanField(editable=False, null=True)),
                ('refresh_message', models.TextField(blank=True, editable=False)),
                ('refresh_beat_at', models.DateTimeField(editable=False, null=True)),
                ('refresh_progress', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'MCP server',
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='mcp_server_name_once')],
            },
        ),
        migrations.CreateModel(
            name='PendingSignIn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='base.workspace')),
                ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.mcpserver')),
                ('started_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('is_shared', models.BooleanField(default=False)),
                ('state_hash', models.CharField(max_length=64, unique=True)),
                ('session_hash', models.CharField(max_length=64)),
                ('plan', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'verbose_name': 'pending sign-in',
            },
        ),
        migrations.CreateModel(
            name='ToolDefinition',
            fields=[
                ('hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('description', models.TextField()),
                ('parameters', models.TextField()),
                ('effect', models.CharField(max_length=16)),
                ('answer_parameter', models.TextField(blank=True, default='')),
                ('request', models.JSONField(blank=True, null=True)),
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
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='base.workspace')),
                ('name', models.CharField(max_length=64)),
                ('definition', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='tools.tooldefinition')),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('origin', models.CharField(max_length=16)),
                ('source', models.TextField(blank=True, default='')),
                ('credentials', models.JSONField(blank=True, default=list)),
                ('labels', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list)),
                ('summary', models.CharField(blank=True, db_default='', default='', help_text='Sentence about a call, with its arguments in braces: Refund {amount} EUR. People read it where a call waits for them.', max_length=300)),
                ('server', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='tools.mcpserver')),
                ('remote_name', models.CharField(blank=True, db_default='', default='', max_length=128)),
                ('pending', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tools.tooldefinition')),
            ],
            options={
                'verbose_name': 'tool',
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='catalogue_name_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Credential',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='credentials', to='base.workspace')),
                ('user', models.ForeignKey(blank=True, help_text="Only this person's runs use it. Empty: all runs of the workspace.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
                ('name', models.CharField(help_text='Name for people, e.g. support mailbox.', max_length=64)),
                ('kind', models.CharField(max_length=40, verbose_name='type')),
                ('settings', models.JSONField(blank=True, default=dict)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled credential is not used.')),
                ('healthy', models.BooleanField(editable=False, null=True)),
                ('health_message', models.TextField(blank=True, editable=False)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'user', 'name'), name='credential_name_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='RemoteAgentTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.mcpserver')),
                ('run_id', models.UUIDField()),
                ('call_id', models.CharField(max_length=64)),
                ('user_id', models.BigIntegerField(null=True)),
                ('task', models.CharField(max_length=500)),
                ('url', models.TextField()),
                ('tenant', models.TextField(blank=True, default='')),
                ('attempts', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'verbose_name': 'task of a remote agent',
                'constraints': [models.UniqueConstraint(fields=('run_id', 'call_id'), name='remote_agent_task_once')],
            },
        ),
        migrations.RunSQL(GUARD, NO_GUARD),
    ]
