import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """A run records who started it."""

    dependencies = [
        ('agents', '0008_webhooks'),
        ('base', '0004_identity'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='started_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='run',
            name='started_user',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('started_user__isnull', False)), fields=['started_user', 'workspace', '-id'], name='run_started_by'),
        ),
    ]
