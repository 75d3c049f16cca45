import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_durability'),
        ('base', '0004_identity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Pause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('queue', 'A queue'), ('workspace', 'A workspace'), ('all', 'Everything')], max_length=9)),
                ('queue', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('reason', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('by', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='pauses', to='base.workspace')),
            ],
            options={
                'ordering': ['at'],
            },
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.UniqueConstraint(fields=('kind', 'queue', 'workspace'), name='pause_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'queue'), ('workspace__isnull', True), models.Q(('queue', ''), _negated=True)), models.Q(('kind', 'workspace'), ('queue', ''), ('workspace__isnull', False)), models.Q(('kind', 'all'), ('queue', ''), ('workspace__isnull', True)), _connector='OR'), name='pause_names_what_it_is_of'),
        ),
    ]
