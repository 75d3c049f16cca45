from django.db import migrations, models


class Migration(migrations.Migration):
    """Tools can be stopped."""

    dependencies = [
        ('agents', '0013_quotas'),
    ]

    operations = [
        migrations.AlterField(
            model_name='run',
            name='attempts',
            field=models.PositiveIntegerField(default=0, help_text='Workers that died with it since its last progress.'),
        ),
        migrations.AlterField(
            model_name='pause',
            name='kind',
            field=models.CharField(choices=[('queue', 'A queue'), ('workspace', 'A workspace'), ('tool', 'A tool'), ('all', 'Everything')], max_length=9),
        ),
        migrations.AddField(
            model_name='pause',
            name='tool',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.RemoveConstraint(model_name='pause', name='pause_once'),
        migrations.RemoveConstraint(model_name='pause', name='pause_names_what_it_is_of'),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.UniqueConstraint(fields=('kind', 'queue', 'workspace', 'tool'), name='pause_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'queue'), ('tool', ''), ('workspace__isnull', True), models.Q(('queue', ''), _negated=True)), models.Q(('kind', 'workspace'), ('queue', ''), ('tool', ''), ('workspace__isnull', False)), models.Q(('kind', 'tool'), ('queue', ''), models.Q(('tool', ''), _negated=True)), models.Q(('kind', 'all'), ('queue', ''), ('tool', ''), ('workspace__isnull', True)), _connector='OR'), name='pause_names_what_it_is_of'),
        ),
    ]
