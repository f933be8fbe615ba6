"""All tables of the studio. Nothing was released before: changes from here on are migrations of their own."""

from __future__ import annotations

import uuid
from typing import Any

import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import kapwa.studio.core.tables


def current(table: str, /, **fields: Any) -> migrations.CreateModel:
    """Make a table whose rows are made from events; one of them is ``constraints``."""
    constraints = fields.pop("constraints", [])
    key = models.CharField(max_length=80, primary_key=True, serialize=False)
    project = models.ForeignKey("studio.project", models.CASCADE, related_name="+")
    own = {"id": key, "seq": models.BigIntegerField(default=0), **fields, "project": project}
    options = {"ordering": ("seq",), "abstract": False, "constraints": constraints}
    return migrations.CreateModel(table, list(own.items()), options)


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
        migrations.CreateModel(
            "Person",
            [
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("access", models.CharField(max_length=64, unique=True)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("contact", models.CharField(blank=True, max_length=200)),
                ("no_contact", models.BooleanField(default=False)),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            "Project",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("form", models.CharField(default="kalahi", max_length=16)),
                ("culture", models.CharField(max_length=200)),
                ("language", models.CharField(max_length=80)),
                ("languages", models.JSONField(default=list)),
                ("gloss", models.CharField(default="en", max_length=80)),
                ("licence", models.CharField(default="CC-BY-4.0", max_length=200)),
                ("collected", models.TextField(blank=True)),
                ("limits", models.TextField(blank=True)),
                ("reviewed", models.BooleanField(null=True)),
                ("contact", models.CharField(blank=True, max_length=200)),
                ("questions", models.JSONField(default=dict)),
                ("attribute", models.CharField(default="nationality", max_length=40)),
                ("quorum", models.PositiveSmallIntegerField(default=2)),
                ("people_each", models.PositiveSmallIntegerField(default=5)),
                ("answers_each", models.PositiveSmallIntegerField(default=3)),
                ("repeats_each", models.PositiveSmallIntegerField(default=0)),
                ("background", models.JSONField(default=list)),
                ("background_own", models.TextField(blank=True)),
                ("salt", models.CharField(default=kapwa.studio.core.tables.new_author, max_length=32)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            "ConsentText",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.ForeignKey(on_delete=models.CASCADE, related_name="consents", to="studio.project")),
                ("version", models.PositiveIntegerField()),
                ("language", models.CharField(max_length=80)),
                ("text", models.TextField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "version", "language"), name="one_consent_text")
                ]
            },
        ),
        migrations.CreateModel(
            "Membership",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.ForeignKey(on_delete=models.CASCADE, related_name="members", to="studio.project")),
                (
                    "person",
                    models.ForeignKey(
                        null=True, on_delete=models.SET_NULL, related_name="memberships", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("author", models.CharField(default=kapwa.studio.core.tables.new_author, max_length=16, unique=True)),
                ("pseudonym", models.CharField(blank=True, max_length=80)),
                ("credit", models.CharField(blank=True, max_length=16)),
                ("roles", models.JSONField(default=list)),
                ("languages", models.JSONField(default=list)),
                ("consent_version", models.PositiveIntegerField(default=0)),
                ("consent_scopes", models.JSONField(default=list)),
                ("consented", models.DateTimeField(null=True)),
                ("background", models.JSONField(default=dict)),
                ("background_public", models.BooleanField(default=False)),
                ("joined", models.DateTimeField(default=django.utils.timezone.now)),
                ("left", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "person"), name="one_membership"),
                    models.UniqueConstraint(
                        condition=models.Q(("pseudonym", ""), _negated=True),
                        fields=("project", "pseudonym"),
                        name="one_name",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            "Invitation",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        null=True, on_delete=models.CASCADE, related_name="invitations", to="studio.project"
                    ),
                ),
                ("code", models.CharField(max_length=64, unique=True)),
                ("roles", models.JSONField(default=list)),
                (
                    "member",
                    models.ForeignKey(
                        null=True, on_delete=models.CASCADE, related_name="invitations", to="studio.membership"
                    ),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("used", models.DateTimeField(null=True)),
                ("maker", models.CharField(blank=True, max_length=16)),
                ("agreed", models.CharField(blank=True, max_length=16)),
            ],
        ),
        migrations.CreateModel(
            "Event",
            [
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("uuid", models.UUIDField(unique=True)),
                ("project", models.ForeignKey(on_delete=models.CASCADE, related_name="events", to="studio.project")),
                ("kind", models.CharField(max_length=40)),
                ("actor", models.CharField(blank=True, db_index=True, max_length=16)),
                ("subject", models.CharField(blank=True, db_index=True, max_length=36)),
                ("device_time", models.DateTimeField(null=True)),
                ("server_time", models.DateTimeField(default=django.utils.timezone.now)),
                ("body", models.JSONField(default=dict)),
                ("erased", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            "Lease",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="studio.project")),
                ("desk", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=80)),
                ("author", models.CharField(max_length=16)),
                ("until", models.DateTimeField()),
                ("done", models.BooleanField(default=False)),
                ("device", models.CharField(blank=True, max_length=20)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("desk", "subject", "author"), name="one_lease")]},
        ),
        migrations.CreateModel(
            "WrongCode",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=64)),
                ("code", models.CharField(max_length=64)),
                ("tried", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("network", "code"), name="one_wrong_code")]},
        ),
        migrations.CreateModel(
            "TracesDue",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        current(
            "InterfaceText",
            language=models.CharField(max_length=80),
            source=models.TextField(),
            texts=models.JSONField(default=list),
            author=models.CharField(blank=True, max_length=16),
            approved=models.BooleanField(default=False),
            approver=models.CharField(blank=True, max_length=16),
        ),
        current(
            "Topic",
            name=models.CharField(max_length=200),
            source=models.CharField(blank=True, max_length=500),
            origin=models.CharField(max_length=16),
            target=models.PositiveIntegerField(default=0),
            author=models.CharField(blank=True, max_length=16),
            retired=models.BooleanField(default=False),
            constraints=[
                models.UniqueConstraint(
                    condition=models.Q(("retired", False)), fields=("project", "name"), name="one_topic"
                )
            ],
        ),
        current(
            "Release",
            version=models.CharField(max_length=40),
            date=models.CharField(max_length=10),
            items=models.JSONField(default=dict),
            card=models.JSONField(default=dict),
            authors=models.JSONField(default=list),
            facts=models.JSONField(default=dict),
            private=models.FloatField(default=0),
            digests=models.JSONField(default=dict),
        ),
        current(
            "Aside",
            author=models.CharField(blank=True, max_length=16),
            who=models.CharField(db_index=True, max_length=16),
            desk=models.CharField(max_length=40),
            reason=models.CharField(max_length=20),
            note=models.TextField(blank=True),
            agreed=models.BooleanField(default=False),
        ),
        current(
            "Elicited",
            question=models.CharField(max_length=80),
            text=models.TextField(),
            language=models.CharField(max_length=80),
            topic=models.CharField(blank=True, max_length=200),
            author=models.CharField(blank=True, max_length=16),
        ),
        current(
            "Term",
            author=models.CharField(blank=True, max_length=16),
            name=models.CharField(max_length=500),
            language=models.CharField(max_length=80),
            text=models.CharField(max_length=500),
            note=models.CharField(blank=True, max_length=500),
        ),
        current(
            "Situation",
            number=models.PositiveIntegerField(),
            cluster=models.CharField(db_index=True, max_length=36),
            author=models.CharField(blank=True, max_length=16),
            authors=models.JSONField(default=list),
            state=models.CharField(db_index=True, max_length=16),
            revision=models.PositiveIntegerField(default=1),
            round=models.PositiveIntegerField(default=0),
            revealed=models.BooleanField(default=False),
            fields=models.JSONField(default=dict),
            elicited=models.CharField(blank=True, max_length=36),
            frozen_in=models.CharField(blank=True, max_length=40),
            model_seen=models.JSONField(default=list),
        ),
        current(
            "Revision",
            situation=models.CharField(db_index=True, max_length=36),
            number=models.PositiveIntegerField(),
            fields=models.JSONField(default=dict),
            author=models.CharField(blank=True, max_length=16),
            reason=models.CharField(blank=True, max_length=40),
            note=models.TextField(blank=True),
        ),
        current(
            "Vote",
            situation=models.CharField(db_index=True, max_length=36),
            round=models.PositiveIntegerField(),
            author=models.CharField(blank=True, max_length=16),
            choice=models.CharField(max_length=16),
            best=models.CharField(blank=True, max_length=2),
            remark=models.TextField(blank=True),
        ),
        current(
            "Question",
            number=models.PositiveIntegerField(),
            name=models.CharField(blank=True, max_length=200),
            topic=models.CharField(blank=True, max_length=200),
            kind=models.CharField(default="text", max_length=16),
            text=models.TextField(),
            language=models.CharField(max_length=80),
            revision=models.PositiveIntegerField(default=1),
            text_event=models.CharField(blank=True, max_length=36),
            author=models.CharField(blank=True, max_length=16),
            retired=models.BooleanField(default=False),
            accepted=models.JSONField(default=dict),
            accepted_of=models.CharField(blank=True, max_length=36),
        ),
        current(
            "Wording",
            text_event=models.CharField(blank=True, max_length=36),
            state=models.CharField(db_index=True, default="proposed", max_length=16),
            author=models.CharField(blank=True, max_length=16),
            authors=models.JSONField(default=list),
            agreed=models.JSONField(default=list),
            refused=models.JSONField(default=list),
            question=models.ForeignKey(on_delete=models.CASCADE, related_name="wordings", to="studio.question"),
            language=models.CharField(max_length=80),
            text=models.TextField(),
            note=models.TextField(blank=True),
            revision=models.PositiveIntegerField(default=1),
            counted=models.JSONField(default=list),
            people=models.PositiveIntegerField(default=0),
        ),
        current(
            "Answer",
            question=models.CharField(db_index=True, max_length=36),
            language=models.CharField(max_length=80),
            question_revision=models.PositiveIntegerField(),
            wording_revision=models.PositiveIntegerField(),
            outcome=models.CharField(max_length=16),
            texts=models.JSONField(default=list),
            depends=models.TextField(blank=True),
            again=models.JSONField(default=list),
            author=models.CharField(blank=True, db_index=True, max_length=16),
        ),
        current(
            "Decision",
            wording=models.CharField(db_index=True, max_length=80),
            kind=models.CharField(max_length=40),
            author=models.CharField(blank=True, max_length=16),
            body=models.JSONField(default=dict),
        ),
        current(
            "PromptPart",
            text_event=models.CharField(blank=True, max_length=36),
            state=models.CharField(db_index=True, default="proposed", max_length=16),
            author=models.CharField(blank=True, max_length=16),
            authors=models.JSONField(default=list),
            agreed=models.JSONField(default=list),
            refused=models.JSONField(default=list),
            role=models.CharField(db_index=True, max_length=16),
            name=models.CharField(max_length=200),
            fields=models.JSONField(default=dict),
            retired=models.BooleanField(default=False),
        ),
        current(
            "TaskSet",
            number=models.PositiveIntegerField(),
            kind=models.CharField(db_index=True, max_length=20),
            seed=models.BigIntegerField(default=0),
            sample=models.PositiveIntegerField(),
            raters=models.PositiveIntegerField(),
            runs=models.JSONField(default=list),
        ),
        current(
            "Drawn",
            set=models.ForeignKey(on_delete=models.CASCADE, related_name="drawn", to="studio.taskset"),
            number=models.PositiveIntegerField(),
            item=models.JSONField(default=dict),
            shown=models.JSONField(default=list),
            texts=models.JSONField(default=list),
            situation=models.CharField(blank=True, max_length=36),
            mark=models.CharField(blank=True, max_length=64),
        ),
        current(
            "Judgement",
            drawn=models.ForeignKey(on_delete=models.CASCADE, related_name="judgements", to="studio.drawn"),
            author=models.CharField(blank=True, max_length=16),
            order=models.JSONField(default=list),
            values=models.JSONField(default=dict),
            remark=models.TextField(blank=True),
        ),
    ]
