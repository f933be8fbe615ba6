"""Which of this process's environment variables a model needs where it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Keys and addresses of providers, access to the hub, proxies. Nothing else: a folder here is none there.
_NEEDED = re.compile(
    r"""(?:
        .*_API_(?:KEY|BASE|VERSION)    | .*_BASE_URL      | .*_ENDPOINT
      | OPENAI_(?:ADMIN_KEY|ORG_ID|ORGANIZATION|PROJECT_ID)
      | (?:AWS|AZURE|GOOGLE|VERTEX|CLOUDFLARE)_(?!.*(?:FILE|PATH|CREDENTIALS$)).*
      | HF_TOKEN | HF_HUB_OFFLINE | TRANSFORMERS_OFFLINE
      | (?:HTTPS?|ALL|NO)_PROXY
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``environment`` that a model may need on another machine, keys among them."""
    return {name: value for name, value in environment.items() if _NEEDED.fullmatch(name)}
