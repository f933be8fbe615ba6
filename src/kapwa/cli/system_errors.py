"""Errors of the operating system and the database in words, with a remedy."""

from __future__ import annotations

import errno
import re
import sys

from kapwa.errors import KapwaError

OTHER_PATH = "Choose another path."
# A disk, or the right to write on it, is at fault. Windows has no quotas.
_DISK = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", errno.ENOSPC): "your disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
# A path is at fault.
_PATH = {
    errno.EEXIST: "it is a file, but a folder is needed",
    errno.ENOTDIR: "a parent of this path is a file, not a folder",
    errno.ENOENT: "this path does not exist and cannot be created",
    errno.EISDIR: "it is a folder, but a file is needed",
    errno.ENOTEMPTY: "it is a folder that is not empty",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "its links form a loop",
    errno.EINVAL: "a file there cannot have this name",
}
# What libraries report that cannot be loaded, start a thread or grow.
_NO_MEMORY = re.compile(
    "failed to map segment|[Cc]annot allocate memory|can't start new thread|error return without exception set"
)


def file_of(error: BaseException) -> str | None:
    """The file that the system named; for a rename, the new name."""
    return getattr(error, "filename2", None) or getattr(error, "filename", None)


def explained(error: BaseException) -> KapwaError | None:
    """Return what is wrong with memory, database, disk or path, and the remedy; None if none of them is at fault."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        hint = "The answers so far are saved. Use fewer items (--limit) or more memory."
        return KapwaError("Out of memory.", hint=hint)
    if _is_database_error(error):
        reason = str(error).strip().splitlines()[0]
        hint = "Free disk space, then run: kapwa studio check. Restore a damaged database from a backup."
        return KapwaError(f"The studio's database cannot be read or written: {reason}.", hint=hint)
    name, number = file_of(error), _number_of(error)
    if number in _DISK:
        hint = "Free disk space, allow writing there, or choose another path."
        return KapwaError(f"{name or 'A file'} cannot be written: {_DISK[number]}.", hint=hint)
    if name and number in _PATH:
        return KapwaError(f"{name} cannot be used: {_PATH[number]}.", hint=OTHER_PATH)
    return None


def _is_database_error(error: BaseException) -> bool:
    """Whether the studio's database is full, damaged or unreachable; a violated constraint would be a bug."""
    databases = sys.modules.get("django.db.utils")  # only where the studio was opened
    return databases is not None and type(error) in (databases.DatabaseError, databases.OperationalError)


def _number_of(error: BaseException) -> int:
    """The system's error number; 0 for none."""
    number = getattr(error, "errno", None)
    if number:
        return int(number)
    in_text = re.search(r"\(os error (\d+)\)", str(error))  # polars gives it in the message
    return int(in_text[1]) if in_text else 0
