from django.conf import settings
from django.db import migrations, models

from agents.runs.install import install


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0005_public_names'),
        ('base', '0002_public_names'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='agent',
            name='agent_uncertain_known',
        ),
        migrations.RemoveConstraint(
            model_name='decision',
            name='decision_verdict_known',
        ),
        migrations.AlterField(
            model_name='agent',
            name='uncertain_calls',
            field=models.CharField(choices=[('ask_human', 'Ask a person'), ('tell_model', 'Tell the model, and go on'), ('retry', 'Make the call again')], db_default='ask_human', default='ask_human', help_text='Handling of a call with an external effect whose worker crashed.', max_length=16),
        ),
        migrations.AlterField(
            model_name='decision',
            name='verdict',
            field=models.CharField(choices=[('approved', 'Approved'), ('edited', 'Approved with other arguments'), ('answered', 'Answered'), ('denied', 'Denied'), ('retried', 'Make it again'), ('confirmed', 'It took effect'), ('skipped', 'Leave it')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('uncertain_calls__in', ['ask_human', 'tell_model', 'retry'])), name='agent_uncertain_known'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['approved', 'edited', 'answered', 'denied', 'retried', 'confirmed', 'skipped'])), name='decision_verdict_known'),
        ),
        migrations.RunPython(install, migrations.RunPython.noop, elidable=False),
    ]
