import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.provider_account
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models

from heartbit_site.base.sql.install import install_audit

# name, runs a day, tokens a month, US dollars a month, runs at once, days that runs are kept,
# days that memories are kept (None: for ever)
TIERS = (
    ('free', 50, 1_000_000, 5, 2, 7, 7),
    ('starter', 500, 10_000_000, 50, 5, 30, 30),
    ('pro', 5_000, 100_000_000, 500, 20, 90, 90),
    ('business', 50_000, 1_000_000_000, 5_000, 100, 365, None),
)


def create_tiers(apps, schema_editor):
    """Create tiers to begin with; no workspace is given any."""
    tier = apps.get_model('base', 'Tier')
    for name, runs, tokens, usd, at_once, days, memory_days in TIERS:
        tier.objects.create(
            name=name,
            runs_per_day=runs,
            tokens_per_month=tokens,
            usd_per_month=usd,
            runs_at_once=at_once,
            retention_days=days,
            memory_days=memory_days,
        )


class Migration(migrations.Migration):
    """Workspaces, people's rights, accounts, usage and the audit."""

    initial = True

    dependencies = [
        # All of auth first: each later change of its models would render all of Heartbit's again.
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('evaluated_at', models.DateTimeField(null=True)),
                ('alerts', models.JSONField(default=dict)),
                ('readings', models.JSONField(default=dict)),
                ('unsent', models.JSONField(default=list)),
                ('mail_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Tier',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(help_text='Name, e.g. starter.', max_length=40, unique=True)),
                ('runs_per_day', models.PositiveIntegerField(blank=True, help_text='Started runs per day, from midnight UTC. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('tokens_per_month', models.PositiveBigIntegerField(blank=True, help_text='Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('usd_per_month', models.DecimalField(blank=True, decimal_places=4, help_text='Empty: no limit. Calls of unknown price count as 0.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='US dollars per month')),
                ('runs_at_once', models.PositiveIntegerField(blank=True, help_text='Concurrent runs; further runs stay queued. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('retention_days', models.PositiveIntegerField(blank=True, help_text="Days until finished runs are archived and deleted; a smaller value of the workspace has precedence. Empty: the workspace's own value.", null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('memory_days', models.PositiveIntegerField(blank=True, help_text="Days until a memory that was neither changed nor recalled is erased for good; a smaller value of the workspace's memory settings has precedence. Empty: never.", null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='days that memories are kept')),
                ('warn_at', models.PositiveSmallIntegerField(db_default=80, default=80, help_text='Usage in percent of a limit that triggers a warning, once per period.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('runs_at_once__isnull', True), ('runs_at_once__gte', 1), _connector='OR'), name='tier_lets_something_run'), models.CheckConstraint(condition=models.Q(('warn_at__gte', 1), ('warn_at__lte', 100)), name='tier_warns_in_percent')],
            },
        ),
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Short name, used in URLs and on the command line.', unique=True)),
                ('name', models.CharField(max_length=200)),
                ('default_model', models.CharField(blank=True, help_text="provider:model for agents that name none. Empty: the installation's default.", max_length=200, validators=[django.core.validators.RegexValidator('^[a-z]+:\\S+$', 'Write provider:model, e.g. openai:gpt-5.')])),
                ('retention_days', models.PositiveIntegerField(blank=True, db_default=90, default=90, help_text='Days until finished runs are archived and deleted. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('tier', models.ForeignKey(blank=True, help_text='Quotas of the workspace. Empty: no limits.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='workspaces', to='base.tier')),
                ('unknown_prices', models.CharField(choices=[('ask', 'Ask an owner'), ('refuse', 'Refuse')], db_default='ask', default='ask', help_text='Handling of runs under a limit in US dollars whose model has no known price: ask an owner, or refuse.', max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['slug'],
                'constraints': [models.CheckConstraint(condition=models.Q(('unknown_prices__in', ['ask', 'refuse'])), name='unknown_prices_known')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='base.workspace')),
                ('user', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('name', models.CharField(help_text='Name in lists, e.g. nightly import.', max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=16, unique=True)),
                ('hash', models.CharField(editable=False, max_length=64)),
                ('scopes', models.JSONField(default=list, help_text='Permissions of the key.')),
                ('expires_at', models.DateTimeField(blank=True, help_text='Time of expiry. Empty: never.', null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, help_text='Time of the last use, to the minute. Empty: never used.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='base.workspace')),
                ('chain', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('number', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('actor', models.CharField(max_length=200)),
                ('user', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('via', models.CharField(max_length=16)),
                ('action', models.CharField(max_length=64)),
                ('target', models.CharField(blank=True, max_length=100)),
                ('label', models.CharField(blank=True, max_length=200)),
                ('details', models.JSONField(default=dict)),
                ('previous', models.CharField(db_default='', default='', editable=False, max_length=64)),
                ('hash', models.CharField(db_default='', default='', editable=False, max_length=64)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['target'], name='audit_of_target'), django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['at'], name='audit_age')],
                'constraints': [models.UniqueConstraint(fields=('chain', 'number'), name='audit_number_once')],
            },
        ),
        migrations.CreateModel(
            name='EnvironmentKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, unique=True)),
                ('variable', models.CharField(max_length=80)),
                ('healthy', models.BooleanField(null=True)),
                ('health_message', models.TextField(blank=True)),
                ('latency_ms', models.PositiveIntegerField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['provider'],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='base.workspace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('viewer', 'Viewer: sees runs, chats, approvals and usage, and changes nothing'), ('operator', 'Operator: also starts and stops runs, chats, and approves tool calls'), ('editor', 'Editor: also opens the admin, and changes agents, schedules and budgets'), ('admin', 'Admin: also manages members, keys, accounts and webhooks')], default='viewer', help_text='Permissions in the workspace.', max_length=8)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ['workspace', 'user'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'user'), name='one_membership_each'), models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'operator', 'editor', 'admin'])), name='membership_role_known')],
            },
        ),
        migrations.CreateModel(
            name='ProviderAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='provider_accounts', to='base.workspace')),
                ('provider', models.CharField(max_length=40)),
                ('label', models.CharField(blank=True, help_text='Name among several accounts, e.g. production.', max_length=100)),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('key_hint', models.CharField(blank=True, editable=False, help_text="The key's last characters.", max_length=4, verbose_name='key')),
                ('base_url', models.CharField(blank=True, help_text="URL of the API, e.g. https://gateway.example/v1. Empty: the provider's own URL. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST.", max_length=300, validators=[heartbit_site.base.models.provider_account.check_base_url], verbose_name='base URL')),
                ('requests_per_minute', models.PositiveIntegerField(blank=True, help_text='Model calls per minute of all workers together. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('tokens_per_minute', models.PositiveIntegerField(blank=True, help_text='Tokens per minute, read and written, of all workers together. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('enabled', models.BooleanField(default=True, help_text="An enabled account's key replaces the environment's.")),
                ('healthy', models.BooleanField(editable=False, null=True)),
                ('health_message', models.TextField(blank=True, editable=False)),
                ('latency_ms', models.PositiveIntegerField(editable=False, null=True)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['workspace', 'provider', '-enabled', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('enabled', True)), fields=('workspace', 'provider'), name='account_one_enabled', violation_error_message='The workspace already has an enabled account with this provider; disable that one first.')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='base.workspace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=60)),
                ('query', models.CharField(blank=True, max_length=1000)),
                ('is_shared', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['name', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'user', 'name'), name='saved_view_name')],
            },
        ),
        migrations.CreateModel(
            name='UsageEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='base.workspace')),
                ('run_id', models.UUIDField(db_index=True)),
                ('turn', models.PositiveIntegerField()),
                ('model', models.CharField(max_length=200)),
                ('input_tokens', models.PositiveIntegerField()),
                ('output_tokens', models.PositiveIntegerField()),
                ('cached_input_tokens', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                ('at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'usage entries',
                'indexes': [models.Index(fields=['workspace', 'at'], name='usage_by_workspace')],
            },
        ),
        migrations.RunPython(create_tiers, migrations.RunPython.noop),
        # Triggers number and hash the entries of the audit, and refuse changes.
        migrations.RunPython(install_audit, migrations.RunPython.noop),
    ]
