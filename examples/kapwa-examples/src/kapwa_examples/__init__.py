"""What a package can add to Kapwa from outside: suites, a metric, a model backend and a language."""

from pathlib import Path

from kapwa.suites.folders import folder_suite

# A suite that is a folder of data needs no more than this line.
street = folder_suite(
    "street", "blend", Path(__file__).parent / "street", tasks=("saq",), title="In the street (example)"
)
