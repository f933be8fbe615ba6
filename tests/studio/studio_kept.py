"""Databases that are prepared once and copied: whoever comes in to a project goes through forty pages."""

import shutil
from pathlib import Path
from typing import Any

from studio_people import Someone, enter

KEPT = {"django_migrations", "django_content_type", "auth_permission"}  # the same in every studio
_COUNTERS_KEPT = ", ".join(f"'{table}_id_seq'" for table in sorted(KEPT))


class Cast:
    """People of a fresh project; they come in once, and each later test has a copy of that database and of them."""

    def __init__(self, file: Path, **members: tuple[str, ...]) -> None:
        self.file, self.members = file, members
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.counted: list[tuple[str, int]] = []
        self.kept: dict[str, Someone] = {}

    def come(self, project: Any) -> dict[str, Someone]:
        """Let them into a project of which nothing happened yet; each by the name that tests call them."""
        from kapwa.studio.models import Membership, Project

        fresh = Project.objects.count() == 1 and not Membership.objects.exists()
        if fresh and self.kept:
            self._put_back()
            project.refresh_from_db()
            return {name: who.again() for name, who in self.kept.items()}
        people = {name: enter(project, *member) for name, member in self.members.items()}
        if fresh:
            self._keep()
            self.kept = {name: who.again() for name, who in people.items()}
        return people

    def _keep(self) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                shutil.copyfile(connection.settings_dict["NAME"], self.file)
                return
            for table in filled_tables(cursor):
                cursor.execute(f"SELECT * FROM {table}")
                self.rows[table] = cursor.fetchall()
            counted = f"last_value IS NOT NULL AND sequencename NOT IN ({_COUNTERS_KEPT})"
            cursor.execute(f"SELECT sequencename, last_value FROM pg_sequences WHERE {counted}")
            self.counted = cursor.fetchall()

    def _put_back(self) -> None:
        from django.db import connection

        if connection.vendor == "sqlite":
            database = Path(connection.settings_dict["NAME"])
            connection.close()
            for left in database.parent.glob(f"{database.name}-*"):
                left.unlink()
            shutil.copyfile(self.file, database)
            return
        empty_the_server()
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            for table, rows in self.rows.items():
                cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
            cursor.executemany("SELECT setval(%s, %s)", self.counted)
            cursor.execute("SET session_replication_role = DEFAULT")


def filled_tables(cursor: Any) -> list[str]:
    """The tables that hold a row, but for those that are the same in every studio."""
    from django.db import connection

    tables = sorted({*connection.introspection.table_names(cursor)} - KEPT)
    cursor.execute(" UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in tables))
    return [table for (table,) in cursor.fetchall()]


def empty_the_server() -> None:
    """Delete every row and count anew; ten times faster than Django's flush, which truncates tables that are empty."""
    from django.db import connection

    with connection.cursor() as cursor:
        deletions = [f"DELETE FROM {table}" for table in filled_tables(cursor)]
        unchecked = "SET session_replication_role = replica"  # keys between tables, all of which end up empty
        counters = f"relkind = 'S' AND relname NOT IN ({_COUNTERS_KEPT})"
        restart = f"SELECT setval(oid, 1, false) FROM pg_class WHERE {counters}"
        checked = "SET session_replication_role = DEFAULT"
        cursor.execute("; ".join([unchecked, *deletions, restart, checked]))
