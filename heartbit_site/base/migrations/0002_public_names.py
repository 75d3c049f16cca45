import heartbit_site.base.models.provider_account
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('base', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='provideraccount',
            name='base_url',
            field=models.CharField(blank=True, help_text="Where the API is, e.g. https://gateway.example/v1. Empty: the provider's own place. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST.", max_length=300, validators=[heartbit_site.base.models.provider_account.check_base_url], verbose_name='base URL'),
        ),
    ]
