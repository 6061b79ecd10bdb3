"""The pictures over ranks and the texts side by side in a real browser, also small, dark and without a script."""

import fasttl
import pytest
from handmade import record

pytestmark = pytest.mark.browser

EXAMPLE = "examples/crash_3_ranks"
PAGES = ("index.html", "ranks.html", "diff/1.html")
LINES = "".join(f"        v{n} = torch.relu(x)\n" for n in range(20))


@pytest.fixture(scope="module")
def parted(tmp_path_factory):
    """Write the report of eight ranks of which number 5 has another operation in its second graph."""
    logs = tmp_path_factory.mktemp("parted")
    for rank in range(8):
        records = []
        for frame in range(3):
            ids = f', "frame_id": {frame}, "frame_compile_id": 0, "attempt": 0, "rank": {rank}'
            last = "cos" if (rank, frame) == (5, 1) else "sin"
            graph = f"class M(torch.nn.Module):\n    def forward(self, x):\n{LINES}        return (torch.{last}(x),)\n"
            about = {"co_name": "layer", "co_filename": "/job/model.py", "co_firstlineno": frame + 1}
            records += [
                record("dynamo_start", {"stack": []}, ids=ids),
                record("dynamo_output_graph", {"sizes": {}}, graph, ids=ids),
                record(
                    "compilation_metrics", about | {"entire_frame_compile_time_s": 0.5, "graph_op_count": 2}, ids=ids
                ),
            ]
        (logs / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_bytes(b"".join(records))
    fasttl.write_report(logs, logs / "out")
    return logs / "out"


def test_the_odd_rank_is_seen_and_leads_to_both_texts(watched, parted):
    watched.open(parted / "index.html")
    page = watched.page
    rows = page.locator("section[aria-labelledby=strip] .pictured").first.locator("th[scope=row]")
    assert rows.all_inner_texts()[0].startswith("ranks 0\N{EN DASH}4, 6, 7 (7 ranks)")
    assert rows.nth(1).inner_text().split() == ["rank", "5", "graph:", *rows.nth(1).inner_text().split()[3:]]
    page.get_by_role("link", name="Compare side by side").first.click()
    page.wait_for_url("**/diff/1.html")
    assert [mark.inner_text() for mark in page.locator("mark").all()] == ["sin", "cos"]
    fold = page.locator(".texts details").first
    assert not fold.locator("td.txt").first.is_visible()
    fold.locator("summary").click()
    assert fold.locator("td.txt").first.is_visible()
    page.get_by_role("link", name="rank 5").click()
    assert "torch.cos" in page.inner_text("body")
    assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_pages_fit_and_are_drawn_in_colour(browser, parted, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    for name in PAGES:
        page.goto((parted / name).as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name} scrolls sideways"
    page.goto((parted / "index.html").as_uri())
    fill = page.locator("svg.strip path.ok").first.evaluate("path => getComputedStyle(path).fill")
    assert fill == ("rgb(11, 122, 92)" if scheme == "light" else "rgb(62, 207, 157)")
    context.close()


def test_the_pictures_need_no_script(browser, parted):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((parted / "ranks.html").as_uri())
    section = page.locator("section[aria-labelledby=each]")
    assert section.locator("svg[role=img]").count() == 8 + 1
    assert section.locator("svg.strip:not(.axis)").first.bounding_box()["height"] == 28
    titles = section.locator("svg title").all_text_contents()
    assert titles == ["3 ok"] * 8
    context.close()


def test_the_lanes_of_the_example_say_what_never_finished(watched, report):
    watched.open(report(EXAMPLE) / "index.html")
    section = watched.page.locator("section[aria-labelledby=timeline]")
    section.get_by_text("The same in words").click()
    words = section.locator(".links li").all_inner_texts()
    assert [line.split(":")[0] for line in words] == ["rank 0", "rank 1", "rank 2"]
    assert watched.complaints == []
