"""The pages in a real browser: nothing in a log runs, nothing is asked of the network, and they work."""

from pathlib import Path

import fasttl
import pytest

pytestmark = pytest.mark.browser

HOSTILE = (
    "tests/data/unusual",
    "tests/data/provenance",
    "tests/data/probes/xss_stack",
    "tests/data/probes/xss_guard",
    "tests/data/probes/xss_fail_reason",
    "tests/data/probes/xss_metrics_fields",
    "tests/data/probes/xss_restart_reason",
    "tests/data/probes/name_html",
    "tests/data/probes/name_slash",
    "tests/data/probes/name_url_chars",
)
EXAMPLE = "examples/crash_3_ranks"
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [EXAMPLE, *HOSTILE])
def test_no_page_does_anything_but_show(watched, report, name):
    pages = sorted(report(name).rglob("*.html"))
    assert pages
    for page in pages:
        watched.open(page)
        assert watched.complaints == [], page
        assert "pwned" not in watched.page.title()
        assert watched.page.url == page.as_uri(), "a page led away"
        wide = watched.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{page} scrolls sideways"


@pytest.mark.parametrize(
    "name", ["tests/data/export_draft_guard", "tests/data/export_draft", "tests/data/probes/xss_export"]
)
def test_no_page_of_an_export_does_anything_but_show(watched, report, name):
    pages = sorted(report(name, export=True).rglob("*.html"))
    assert any("symbolic_guard_information" in page.name for page in pages)
    for page in pages:
        watched.open(page)
        assert watched.complaints == [], page
        assert watched.page.title() != "pwned"
        assert watched.page.url == page.as_uri(), "a page led away"
        wide = watched.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{page} scrolls sideways"


def test_a_failure_of_an_export_leads_to_how_its_condition_was_made(watched, report):
    watched.open(report("tests/data/export_draft", export=True) / "index.html")
    page = watched.page
    failure = page.locator("#failures ~ .notes > li", has_text="u0 > 2")
    assert "export_draft.py:27" in failure.inner_text()
    failure.get_by_role("link", name="How the condition was made").click()
    page.wait_for_url("**/symbolic_guard_information_x0.html")
    tree = page.locator("section", has=page.locator("h2#tree"))
    assert "create_unbacked_symbol" in tree.inner_text()
    leaf = tree.locator(".fn", has_text="u0").last
    assert leaf.is_visible()
    tree.locator("summary").first.click()
    assert not leaf.is_visible()


def test_the_landing_page_says_what_failed_and_leads_there(watched, report):
    watched.open(report(EXAMPLE) / "index.html")
    page = watched.page
    assert "failed on rank 1" in page.inner_text("section[aria-labelledby=findings]")
    assert "MemoryError: out of memory on rank 1" in page.inner_text("body")
    page.locator("section[aria-labelledby=ranks]").get_by_role("link", name="rank 1", exact=True).click()
    page.wait_for_url("**/rank_1/index.html")
    assert "BackendCompilerFailed" in page.inner_text("main")


def test_a_link_to_a_compile_opens_its_files(watched, report):
    watched.open(report(EXAMPLE) / "rank_2" / "index.html", "#[1/0]")
    heading = watched.page.locator("h3").filter(has_text="[1/0]")
    heading.wait_for(state="visible")
    files = watched.page.locator("section", has=heading).locator("ul.files a")
    assert files.count() > 3


def test_names_with_special_characters_lead_to_their_files(watched, report):
    folder = report("tests/data/probes/name_url_chars")
    watched.open(folder / "index.html")
    hrefs = watched.page.eval_on_selector_all("ul.files a", "links => links.map(a => a.href)")
    special = [href for href in hrefs if "%23" in href]
    assert special
    for href in special:
        response = watched.page.goto(href)
        assert response is None or response.ok
        assert watched.page.inner_text("body").strip()


def test_code_is_coloured_without_touching_its_text(watched, report):
    page_file = next(report("tests/data/hello").rglob("inductor_output_code*.html"))
    watched.open(page_file)
    watched.page.wait_for_function("CSS.highlights.size > 0")
    raw = next(report("tests/data/hello").glob("payloads/*.txt"))
    shown = watched.page.eval_on_selector("pre.code code", "code => code.textContent")
    texts = [path.read_text(encoding="utf-8") for path in raw.parent.glob("*.txt")]
    assert shown in texts


def test_the_stack_tree_can_be_searched_and_folded(watched, report):
    watched.open(report("tests/data/unusual") / "index.html")
    page = watched.page
    page.click("text=Collapse all")
    assert page.locator(".stack-trie details[open]").count() == 0
    page.click("text=Expand all")
    closed = page.locator(".stack-trie details:not([open])").count()
    assert closed == 0


def test_pages_read_without_javascript(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((report(EXAMPLE) / "rank_1" / "index.html").as_uri())
    text = page.inner_text("body")
    for words in ("What to look at", "Stack tree", "BackendCompilerFailed", "Files by compile"):
        assert words in text
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_are_readable(browser, report, scheme):
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto((report(EXAMPLE) / "index.html").as_uri())
    style = "const s = getComputedStyle(document.body); [s.color, s.backgroundColor]"
    ink, paper = (sum(map(int, value[4:-1].split(",")[:3])) for value in page.evaluate(style))
    assert (ink < 200 and paper > 700) if scheme == "light" else (ink > 600 and paper < 150)
    context.close()


PROVENANCE = "provenance_tracking_-_0_0_0.html"


def test_a_line_marks_what_belongs_to_it_and_scrolls_only_the_other_panes(watched, report):
    watched.open(report("tests/data/provenance") / PROVENANCE)
    page = watched.page
    panes = page.locator("[data-part]").first.locator("[data-pane]")
    before = page.evaluate("scrollY")
    panes.nth(1).locator(".l", has_text="sigmoid: ").click()
    marked = [panes.nth(n).locator(".l.with").all_inner_texts() for n in range(3)]
    assert [len(lines) for lines in marked] == [1, 0, 2]
    assert "h: " in marked[0][0]
    assert "cpp_fused_sigmoid_0(buf1)" in marked[2][1]
    call = panes.nth(2).locator(".l.with").nth(1).bounding_box()
    pane = panes.nth(2).bounding_box()
    assert pane["y"] <= call["y"] <= pane["y"] + pane["height"], "the call is not in view"
    assert page.evaluate("scrollY") == before, "the page moved"
    assert page.url.endswith(PROVENANCE)
    panes.nth(0).locator(".l", has_text="linear: ").click()
    assert panes.nth(1).locator(".l.with").count() == 2
    assert panes.nth(2).locator(".l.with").count() == 1
    assert page.locator(".l.chosen").count() == 1
    assert watched.complaints == []


def test_lines_are_tied_with_the_keyboard_too(watched, report):
    watched.open(report("tests/data/provenance") / PROVENANCE)
    page = watched.page
    number = page.locator(".l", has_text="addmm_1: ").locator("a.no")
    number.focus()
    page.keyboard.press("Enter")
    assert page.locator(".l.with", has_text="extern_kernels.addmm(primals_5").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(".l.with, .l.chosen").count() == 0


def test_ties_can_be_followed_without_javascript(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((report("tests/data/provenance") / PROVENANCE).as_uri())
    page.locator(".l", has_text="h: ").locator("a.no").click()
    assert "permute" not in page.locator(".l:target").inner_text()
    assert "sigmoid: " in page.locator(".l:target").inner_text()
    page.locator("summary", has_text="as a table").first.click()
    row = page.locator("tr", has_text="cpp_fused_sigmoid_0:2")
    row.get_by_role("link", name="line").first.click()
    assert "cpp_fused_sigmoid_0(buf1)" in page.locator(".l:target").inner_text()
    context.close()


def test_the_users_header_may_style_and_run_and_nothing_else_may(watched, tmp_path):
    header = (
        '<style>\r\n#mine { color: rgb(1, 2, 3) }\r\n</style><p id="mine">ours</p>'
        '<SCRIPT>\r\ndocument.title = "ran & <ran>";\r\n</SCRIPT>'
        '<script src="other.js"></script><!-- <script>document.title = "comment"</script> -->'
        '<p id="other" style="color: rgb(4, 5, 6)" onclick="document.title = \'clicked\'">theirs</p>'
    )
    out = tmp_path / "out"
    fasttl.write_report(ROOT / EXAMPLE, out, custom_header_html=header)
    for page in (out / "index.html", out / "rank_0" / "index.html"):
        # As bytes: the line ends of the header are part of the test.
        text = page.read_bytes()
        assert b"\r\n#mine" in text
        # What a fault in a template would let through.
        injected = b"<style>#other { color: rgb(7, 8, 9) }</style><script>document.title = 'pwned'</script>"
        page.write_bytes(text.replace(b"</main>", injected + b"</main>"))
        watched.open(page)
        assert watched.page.title() == "ran & <ran>"
        color = "id => getComputedStyle(document.getElementById(id)).color"
        assert watched.page.evaluate(color, "mine") == "rgb(1, 2, 3)"
        assert watched.page.evaluate(color, "other") not in ("rgb(4, 5, 6)", "rgb(7, 8, 9)")
        watched.page.click("#other")
        assert watched.page.title() == "ran & <ran>"
    assert any("Content Security Policy" in text for text in watched.complaints)


def test_a_page_of_a_custom_parser_runs_nothing(watched, tmp_path):
    payload = "document.title = 'pwned'"
    page = (
        "<html><head><title>mine</title></head><body><table class=grid><tr><td>cell</td></tr></table>"
        f"<script>{payload}</script><script src='code_x0.txt'></script><img src=x onerror=\"{payload}\">"
        f'<a id=link href="javascript:{payload}">link</a>'
    )

    @fasttl.parser(kinds="dynamo_output_graph")
    def pages(_record):
        yield fasttl.File("code.txt", payload)
        yield fasttl.File("page.html", page, html=True)
        yield fasttl.File("text.html", page)

    out = tmp_path / "out"
    fasttl.write_report(ROOT / "tests/data/hello", out, parsers=[pages])
    [shown] = out.rglob("page_x*.html")
    [code] = out.rglob("code_x*.txt")
    shown.write_text(shown.read_text().replace("code_x0.txt", code.name))
    watched.open(shown)
    assert watched.page.title() == "mine"
    # The report's own style sheet holds there.
    assert watched.page.evaluate("getComputedStyle(document.querySelector('td')).paddingLeft") != "1px"
    watched.page.click("#link")
    assert watched.page.title() == "mine"
    [text] = out.rglob("text.html_x*.txt")
    watched.open(text)
    assert "<title>mine</title>" in watched.page.inner_text("body")
