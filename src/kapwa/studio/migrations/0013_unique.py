from django.db import migrations, models


def part(apps, schema_editor):
    """Give members of one name different ones; topics are made anew from the events afterwards."""
    apps.get_model("studio", "Topic").objects.all().delete()
    seen = set()
    for member in apps.get_model("studio", "Membership").objects.exclude(pseudonym="").order_by("pk"):
        if (member.project_id, member.pseudonym) in seen:
            member.pseudonym = f"{member.pseudonym[:70]} {member.author[:4]}"
            member.save()
        seen.add((member.project_id, member.pseudonym))


class Migration(migrations.Migration):
    # PostgreSQL changes no table in the transaction that changed its rows.
    atomic = False

    dependencies = [
        ("studio", "0012_trust"),
    ]

    operations = [
        migrations.RunPython(part, migrations.RunPython.noop),
        migrations.AddField(
            model_name="wording",
            name="authors",
            field=models.JSONField(default=list),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                condition=models.Q(("pseudonym", ""), _negated=True), fields=("project", "pseudonym"), name="one_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retired", False)), fields=("project", "name"), name="one_topic"
            ),
        ),
    ]
