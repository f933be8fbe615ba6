"""Read by the checker of types alone: it must refuse these lines, else an unused ``type: ignore`` is its error."""

import kapwa

kapwa.evalute(1, 2, 3)  # type: ignore[attr-defined]
kapwa.evaluate(1, 2)  # type: ignore[arg-type]
kapwa.evaluate("kalahi/mc", "smollm2", untill=0.05)  # type: ignore[call-arg]
kapwa.evaluate("kalahi/mc", "smollm2", until=["0.05"])  # type: ignore[arg-type]
kapwa.load_model("smollm2", dtpye="float32")  # type: ignore[call-arg]
kapwa.contamination("runs/a", privat="runs/b")  # type: ignore[call-arg]
print(kapwa.run_config("study.yaml").estimates)  # type: ignore[attr-defined]
print(kapwa.open_run("runs/a").estimats)  # type: ignore[attr-defined]
print(kapwa.contamination("runs/a").rows[0].differnce)  # type: ignore[attr-defined]
