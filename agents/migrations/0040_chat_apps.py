"""Chat apps that ask members, their accounts there, and the questions."""

import agents.models.chat_app
import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.provider_account
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0039_restored_runs'),
        ('base', '0006_unknown_prices'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ChatApp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Name in lists, e.g. our Slack.', max_length=100)),
                ('kind', models.CharField(choices=[('slack', 'Slack')], default='slack', max_length=12)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled chat app asks no one.')),
                ('place', models.CharField(blank=True, help_text='Id of a channel, e.g. C0123456789, whose members read what is asked. Empty: each linked member who may decide is asked in a direct message.', max_length=100, verbose_name='channel')),
                ('api_url', models.CharField(blank=True, help_text="URL of the service's API. Empty: https://slack.com/api.", max_length=200, validators=[heartbit_site.base.models.provider_account.check_base_url], verbose_name='API URL')),
                ('bot_token', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('signing_secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('app_token', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('url_token', models.CharField(default=agents.models.chat_app.new_events_token, editable=False, max_length=40, unique=True)),
                ('asks_from', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('last_polled_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('connected_until', models.DateTimeField(editable=False, null=True)),
                ('last_error', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chat_apps', to='base.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ChatAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(blank=True, default='', max_length=100, verbose_name='account')),
                ('code_digest', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('code_expires_at', models.DateTimeField(editable=False, null=True)),
                ('linked_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('app', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='accounts', to='agents.chatapp')),
            ],
            options={
                'verbose_name': 'account in a chat app',
                'verbose_name_plural': 'accounts in chat apps',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ChatQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('place', models.CharField(blank=True, default='', max_length=100)),
                ('message', models.CharField(blank=True, default='', max_length=100)),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.chataccount')),
                ('app', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='agents.chatapp')),
                ('wait', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='agents.wait')),
            ],
            options={
                'verbose_name': 'question in a chat app',
                'verbose_name_plural': 'questions in chat apps',
                'ordering': ['pk'],
            },
        ),
        migrations.AddConstraint(
            model_name='chatapp',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='chat_app_named_once'),
        ),
        migrations.AddConstraint(
            model_name='chatapp',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['slack'])), name='chat_app_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='chataccount',
            constraint=models.UniqueConstraint(fields=('app', 'user'), name='chat_account_of_member'),
        ),
        migrations.AddConstraint(
            model_name='chataccount',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('app', 'external_id'), name='chat_account_linked_once'),
        ),
        migrations.AddIndex(
            model_name='chatquestion',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='chat_question_due'),
        ),
        migrations.AddConstraint(
            model_name='chatquestion',
            constraint=models.UniqueConstraint(fields=('app', 'wait', 'account'), name='chat_asked_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='chatquestion',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='chat_question_status_known'),
        ),
    ]
