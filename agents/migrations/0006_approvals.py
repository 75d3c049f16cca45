import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0005_pauses'),
        ('base', '0004_identity'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='approval_seconds',
            field=models.PositiveIntegerField(blank=True, help_text="A call that nobody decides for so long is refused; a tool's own time wins. Empty: it waits for as long as it takes.", null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='toolbinding',
            name='approval_seconds',
            field=models.PositiveIntegerField(blank=True, help_text='A call that nobody decides for so long is refused. Empty: as the agent says.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='toolbinding',
            name='approvals',
            field=models.PositiveSmallIntegerField(db_default=1, default=1, help_text='How many people have to approve a call; one who denies it denies it.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)]),
        ),
        migrations.AddField(
            model_name='toolbinding',
            name='approvers',
            field=models.CharField(blank=True, db_default='', default='', help_text='Only members of this Django group may decide. Empty: whoever may decide at all.', max_length=150),
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('wait_key', models.CharField(max_length=80)),
                ('digest', models.CharField(max_length=64)),
                ('voter', models.CharField(max_length=220)),
                ('by', models.CharField(max_length=200)),
                ('via', models.CharField(max_length=16)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='votes', to='agents.run')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at'],
                'constraints': [models.UniqueConstraint(fields=('run', 'wait_key', 'voter'), name='one_vote_each')],
            },
        ),
    ]
