"""Read by the checker of types alone: it must refuse these lines, else an unused ``type: ignore`` is its error."""

import kapwa

kapwa.evalute(1, 2, 3)  # type: ignore[attr-defined]
kapwa.evaluate(1, 2)  # type: ignore[arg-type]
