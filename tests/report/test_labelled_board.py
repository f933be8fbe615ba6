"""The board's columns of people's labels in a browser: they go with their task, and with no culture alone."""

import sys
from pathlib import Path

import pytest
from browsing import BROWSER, probed, without_policy

import kapwa

sys.path.append(str(Path(__file__).resolve().parents[1] / "labels"))

from audited import fill, planted_runs

PROBE = """<pre id="probe"></pre><script>
const told = {};
const cells = () => [...document.querySelectorAll("table.board tr")].map(
  row => [...row.cells].map(cell => !cell.hidden));
document.querySelectorAll("details").forEach(details => { details.open = true; });
const { port1, port2 } = new MessageChannel();
(async () => {
  for (let k = 0; k < 1e6 && !document.querySelector(".chosen select"); k++)
    await new Promise(done => { port1.onmessage = done; port2.postMessage(0); });
  const culture = [...document.querySelectorAll(".filters label")]
    .find(label => label.firstChild.textContent === "Culture").querySelector("select");
  const choose = name => { culture.value = name; culture.dispatchEvent(new Event("change")); };
  told.heads = [...document.querySelector("table.board").tHead.rows[0].cells].map(cell => cell.textContent);
  told.whole = cells();
  choose("US"); told.narrow = cells();
  choose(""); told.again = cells();
  document.getElementById("probe").textContent = JSON.stringify(told);
})();
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_labels_are_of_all_cultures_and_hidden_where_one_is_chosen(tmp_path: Path) -> None:
    runs = planted_runs(tmp_path, models="ABC")
    kapwa.audit_sample(runs, tmp_path / "sheets", n=9)
    fill(tmp_path / "sheets")
    page = kapwa.write_report(runs, tmp_path / "report.html", people=[tmp_path / "sheets"])
    told = probed(without_policy(page, PROBE))
    assert [head.partition(" (")[0].strip() for head in told["heads"]] == ["System", "SEM-B", "As people label it"]
    assert {tuple(row) for row in told["whole"]} == {(True, True, True)}
    assert {tuple(row) for row in told["narrow"]} == {(True, True, False)}
    assert told["again"] == told["whole"]
