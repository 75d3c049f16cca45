"""Runs that are held since a restore have a placement of their own."""

from django.db import migrations, models

CHOICES = [('fleet', 'Fleet'), ('local', 'Local'), ('restored', 'Held since a restore')]


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0038_hourly_figures'),
    ]

    operations = [
        migrations.AlterField(
            model_name='run',
            name='home',
            field=models.CharField(choices=CHOICES, default='fleet', max_length=8),
        ),
        migrations.AlterField(
            model_name='workerheartbeat',
            name='home',
            field=models.CharField(choices=CHOICES, default='fleet', max_length=8),
        ),
    ]
