"""The history of a conversation has the pictures of its messages: a later migration installs it."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0029_run_words'),
    ]

    operations = []
