"""Write the JSON Schemas of the forms from the readers' own columns, so that they cannot go stale.

python tools/make_form_schemas.py           # write the files
python tools/make_form_schemas.py --check   # exit 1 when a file is not what it would write
"""

from __future__ import annotations

import json
import sys

from kapwa.suites.folders.mapping import FOLDER, schemas


def main() -> None:
    """Write the files, or check them."""
    texts = {
        FOLDER / f"{name}.schema.json": json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        for name, schema in schemas().items()
    }
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
        sys.exit(f"{', '.join(stale)}: stale; run python tools/make_form_schemas.py" if stale else 0)
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
