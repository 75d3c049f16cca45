"""People review results before they are delivered."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0030_pictures'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='review',
            field=models.CharField(blank=True, db_default='', default='', help_text='People who see a result before it is delivered: anyone (who may decide), group:NAME or person:USERNAME. Empty: as the schedule or the run says, else no one.', max_length=160),
        ),
        migrations.AddField(
            model_name='agent',
            name='review_escalate_after_minutes',
            field=models.PositiveIntegerField(blank=True, help_text='Minutes after which all who may decide may review too. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='agent',
            name='review_timeout_seconds',
            field=models.PositiveIntegerField(blank=True, help_text='Seconds after which a run without a review fails. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
    ]
