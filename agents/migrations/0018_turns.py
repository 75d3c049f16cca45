from django.db import migrations, models


class Migration(migrations.Migration):
    """Workspaces take turns, whatever priorities their runs have."""

    dependencies = [
        ('agents', '0017_planned_hops'),
    ]

    operations = [
        # Which workspaces wait is what a claim asks first; a priority orders the runs of one.
        migrations.RemoveIndex(model_name='run', name='run_claimable'),
        migrations.RemoveIndex(model_name='run', name='run_begun'),
        migrations.AlterField(
            model_name='run',
            name='priority',
            field=models.SmallIntegerField(default=0, help_text="Higher goes first, among its workspace's runs."),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.F('workspace'), models.OrderBy(models.F('priority'), descending=True), models.F('available_at'), condition=models.Q(('home', 'fleet'), ('status', 'queued')), name='run_claimable'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('queue'), models.F('workspace'), models.OrderBy(models.F('priority'), descending=True), models.F('id'), condition=models.Q(('home', 'fleet'), ('status', 'queued'), models.Q(('parent__isnull', False), ('started_at__isnull', False), _connector='OR')), name='run_begun'),
        ),
    ]
