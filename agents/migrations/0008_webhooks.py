import agents.models.webhook
import django.db.models.deletion
import django.db.models.functions.datetime
import heartbit_site.base.models.secret_text
from django.conf import settings
from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0007_functions'),
        ('base', '0004_identity'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.UUIDField(blank=True, null=True, verbose_name='run')),
                ('event', models.CharField(max_length=40)),
                ('occurrence', models.CharField(max_length=80)),
                ('message_id', models.CharField(max_length=40, unique=True)),
                ('payload', models.JSONField()),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('response_code', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'webhook delivery',
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What it is for, e.g. ticket system.', max_length=100)),
                ('url', models.CharField(help_text='Where messages are posted to. A host that is not public has to be in HEARTBIT_HTTP_ALLOW.', max_length=500, validators=[agents.models.webhook.check_webhook_url], verbose_name='URL')),
                ('events', models.JSONField(default=list, help_text='What it is told of.')),
                ('secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('former_secret', heartbit_site.base.models.secret_text.SecretTextField(blank=True, default='', editable=False)),
                ('former_until', models.DateTimeField(editable=False, null=True)),
                ('enabled', models.BooleanField(default=True, help_text='A disabled one is told nothing.')),
                ('disabled_because', models.CharField(blank=True, default='', editable=False, max_length=200)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('looked_at', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'verbose_name': 'webhook',
                'ordering': ['-id'],
            },
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('parent__isnull', True)), fields=['workspace', 'finished_at'], name='run_ended'),
        ),
        migrations.AddIndex(
            model_name='wait',
            index=models.Index(condition=models.Q(('kind', 'approval')), fields=['created_at'], name='wait_asked'),
        ),
        migrations.AddField(
            model_name='webhookendpoint',
            name='made_by',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='webhookendpoint',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='base.workspace'),
        ),
        migrations.AddField(
            model_name='webhookdelivery',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='agents.webhookendpoint'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['endpoint', 'next_at'], name='webhook_due'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['created_at'], name='webhook_age'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('endpoint', 'run_id', 'event', 'occurrence'), name='webhook_told_once'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='webhook_status_known'),
        ),
    ]
