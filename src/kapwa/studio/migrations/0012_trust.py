from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studio", "0011_made_anew"),
    ]

    operations = [
        migrations.AddField(
            model_name="invitation",
            name="maker",
            field=models.CharField(blank=True, max_length=16),
        ),
        migrations.AddField(
            model_name="invitation",
            name="agreed",
            field=models.CharField(blank=True, max_length=16),
        ),
    ]
