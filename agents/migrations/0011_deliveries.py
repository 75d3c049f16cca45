import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    """Results that go to somebody when a run ends."""

    dependencies = [
        ('agents', '0010_escalation'),
        ('base', '0004_identity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.UUIDField(verbose_name='run')),
                ('position', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('webhook', 'Webhook'), ('artifact', 'Artifact')], max_length=12)),
                ('target', models.JSONField()),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending', max_length=12)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('settled', models.JSONField(blank=True, default=dict)),
                ('message_id', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='base.workspace')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
                'indexes': [
                    models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='delivery_due'),
                    models.Index(fields=['workspace', '-id'], name='delivery_recent'),
                    models.Index(fields=['created_at'], name='delivery_age'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('run_id', 'position'), name='delivery_ordered_once'),
                    models.UniqueConstraint(condition=models.Q(('message_id', ''), _negated=True), fields=('message_id',), name='delivery_message_id'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['email', 'webhook', 'artifact'])), name='delivery_kind_known'),
                    models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'failed'])), name='delivery_status_known'),
                ],
            },
        ),
    ]
