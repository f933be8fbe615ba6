"""``python -m kapwa`` is the command ``kapwa``."""

from kapwa.cli.main import run

if __name__ == "__main__":
    run()
