"""What every project of the studio has: the log, members, access, consent, erasure, desks and devices, releases."""
