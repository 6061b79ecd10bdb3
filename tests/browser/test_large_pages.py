"""Pages of large jobs and logs open at once in a real browser."""

import fasttl
import pytest
from handmade import IDS, artifact, record

pytestmark = pytest.mark.browser

# Chromium paints these in a few tenths of a second; a machine that is busy takes longer.
AT_ONCE_MS = 2000


def opened(watched, page):
    """Open a page, and give when it was painted first and how many elements stand outside of closed folds."""
    watched.page.bring_to_front()
    watched.open(page)
    painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
    shown = "document.querySelectorAll('*').length - document.querySelectorAll('details:not([open]) *').length"
    return watched.page.evaluate(painted), watched.page.evaluate(shown)


def test_a_log_of_ten_thousand_artifacts(watched, tmp_path):
    records = []
    for frame in range(500):
        ids = IDS.replace('"frame_id": 0', f'"frame_id": {frame}')
        frames = [{"line": frame, "name": f"f{frame}", "filename": 0}]
        records.append(record("dynamo_start", {"stack": frames}, ids=ids))
        about = ({"name": f"thing_{n}", "encoding": "string"} for n in range(20))
        records += [record("artifact", meta, f"{frame} {meta['name']}", ids=ids) for meta in about]
    (tmp_path / "a.log").write_bytes(b"".join(records))
    fasttl.write_report(tmp_path / "a.log", tmp_path / "out")
    ms, shown = opened(watched, tmp_path / "out" / "index.html")
    assert ms < AT_ONCE_MS
    assert shown < 10_000
    # The standard links are there, last and closed.
    fold = watched.page.locator("details.directory")
    assert fold.get_attribute("open") is None
    assert fold.locator("ul.files li").count() == 10_000
    assert watched.complaints == []


def test_the_landing_page_of_512_ranks(watched, tmp_path):
    for rank in range(512):
        log = artifact("a", "x", rank=rank)
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_bytes(log)
    fasttl.write_report(tmp_path, tmp_path / "out")
    ms, shown = opened(watched, tmp_path / "out" / "index.html")
    assert ms < AT_ONCE_MS
    assert shown < 5000
    fold = watched.page.locator("section[aria-labelledby=all] details")
    assert fold.get_attribute("open") is None
    assert fold.locator("a").count() == 512
    assert watched.complaints == []
