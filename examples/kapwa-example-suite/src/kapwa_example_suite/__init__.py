"""A suite of Kapwa that is a folder of data in the answer form."""

from pathlib import Path

from kapwa.suites.folders import folder_suite

suite = folder_suite("street", "blend", Path(__file__).parent / "data", tasks=("saq",), title="In the street (example)")
