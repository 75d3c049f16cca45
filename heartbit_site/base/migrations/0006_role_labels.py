from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("base", "0005_tiers")]

    operations = [
        migrations.AlterField(
            model_name="membership",
            name="role",
            field=models.CharField(
                choices=[
                    ("viewer", "Viewer: sees runs, chats, approvals and usage, and changes nothing"),
                    ("operator", "Operator: also starts and stops runs, chats, and approves tool calls"),
                    ("editor", "Editor: also opens the admin, and changes agents, schedules and budgets"),
                    ("admin", "Admin: also manages members, keys, accounts and webhooks"),
                ],
                default="viewer",
                help_text="What they may do here.",
                max_length=8,
            ),
        ),
    ]
