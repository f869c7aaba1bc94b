"""The page as a person uses it: pick, type, run, look, download; refusals that help."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from trlm_lab.backends.browser import ChromiumRunner, ChromiumSession
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.resources import resources
from trlm_lab.backends.browser.server import PageServer
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Case

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

IDS = (1, 2, 3, 69, 0)
CASES = {
    "schema": "trlm.process.cases.v1",
    "cases": [
        {"case_id": "short", "token_ids": [5]},
        {"case_id": "placed", "token_ids": [5, 6], "position_ids": [3, 4]},
    ],
}


@pytest.fixture(scope="module")
def browser(chromium: ChromiumRunner) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        executable = find_chromium().executable
        opened = playwright.chromium.launch(executable_path=executable)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def server(tiny_slm: Path) -> Iterator[PageServer]:
    with PageServer(resources(tiny_slm)) as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: PageServer) -> Iterator[Page]:
    """The page, freshly opened; afterwards its console must be free of errors."""
    context = browser.new_context()
    opened = context.new_page()
    errors: list[str] = []
    opened.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(server.url)
    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def loaded(page: Page, tiny_slm: Path) -> Page:
    """The page with the tiny model picked."""
    page.get_by_label("Packed model").set_input_files(tiny_slm)
    expect(page.get_by_role("status").first).to_have_text("Ready to run.")
    return page


def run(page: Page, ids: str) -> None:
    page.get_by_label("Token ids").fill(ids)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("button", name="Run")).to_be_enabled()


def report_of(page: Page) -> dict[str, Any]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download report").click()
    report: dict[str, Any] = json.loads(Path(download.value.path()).read_text())
    return report


def cases_file(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_nothing_runs_before_a_model_is_picked(page: Page) -> None:
    expect(page.get_by_role("button", name="Run")).to_be_disabled()
    expect(page.get_by_text("Pick a model first.")).to_be_visible()


def test_a_picked_model_is_described(loaded: Page, tiny_slm: Path) -> None:
    facts = loaded.locator("#model")
    expect(facts).to_contain_text("tiny.slm")
    expect(facts).to_contain_text(f"{tiny_slm.stat().st_size:,} bytes")
    expect(facts).to_contain_text("2, hidden 32, feed-forward 48")
    expect(facts.locator("code")).to_have_attribute("title", file_sha256(tiny_slm))


def test_the_table_has_the_hashes_of_the_engine(loaded: Page, session: ChromiumSession) -> None:
    run(loaded, "1, 2, 3, 69, 0")
    rows = loaded.locator("#checkpoints tbody tr")
    expect(rows).to_have_count(44)
    shown = [
        (row.locator("th").inner_text(), row.locator("code").get_attribute("title"))
        for row in rows.all()
    ]
    expected = session.run_digests(Case("typed", IDS)).arrays
    assert shown == [(array.name, array.sha256) for array in expected]


def test_the_likeliest_tokens_are_listed(loaded: Page, session: ChromiumSession) -> None:
    run(loaded, "[1, 2, 3, 69, 0]")
    top = {o.name: o.values[-1] for o in session.run(Case("typed", IDS))}
    shown = loaded.locator("#next-tokens tbody tr td:first-child").all_inner_texts()
    assert shown == [str(token) for token in top["logits.topk_ids"][:10]]


def test_the_report_holds_it_all(loaded: Page, chromium: ChromiumRunner, tiny_slm: Path) -> None:
    run(loaded, "1 2 3")
    report = report_of(loaded)
    assert report["schema"] == "trlm.browser.report.v1"
    assert report["artifact"]["sha256"] == file_sha256(tiny_slm)
    assert report["module"] == {"sha256": file_sha256(chromium.module), "build_flags": 0}
    assert report["environment"]["browser"] == chromium.availability().version
    assert report["environment"]["cross_origin_isolated"] is True
    assert all(report["environment"]["wasm_features"].values())
    (case,) = report["cases"]
    assert case["token_ids"] == [1, 2, 3]
    masked = next(c for c in case["checkpoints"] if c["name"] == "layers.0.attn_masked")
    assert (masked["shape"], masked["first_nonfinite"]) == ([4, 3, 3], None)
    assert masked["min"] == -3.4028234663852886e38
    assert sum(token["share"] for token in case["next_tokens"]) < 1


def test_the_filter_narrows_the_table(loaded: Page) -> None:
    run(loaded, "1")
    loaded.get_by_label("Show names with").fill("layers.1.q")
    expect(loaded.locator("#checkpoints tbody th")).to_have_text(
        ["layers.1.q_proj", "layers.1.q_rope"]
    )
    expect(loaded.get_by_text("2 of 44 shown")).to_be_visible()


def test_a_served_model_needs_no_picker(page: Page) -> None:
    page.get_by_role("button", name="Load tiny.slm").click()
    expect(page.get_by_text("Ready to run.")).to_be_visible()


def test_a_case_file(loaded: Page, tmp_path: Path) -> None:
    loaded.get_by_label("or a case file").set_input_files(
        cases_file(tmp_path / "cases.json", CASES)
    )
    expect(loaded.get_by_text("2 cases with 3 tokens are loaded")).to_be_visible()
    loaded.get_by_role("button", name="Run").click()
    expect(loaded.get_by_role("button", name="Run")).to_be_enabled()
    chooser = loaded.get_by_label("Case", exact=True)
    expect(chooser.locator("option")).to_have_text(["short (1 token)", "placed (2 tokens)"])
    chooser.select_option(index=1)
    expect(loaded.locator("#checkpoints tbody th").nth(1)).to_have_text("position_ids")
    assert [case["case_id"] for case in report_of(loaded)["cases"]] == ["short", "placed"]
    loaded.get_by_role("button", name="use the ids above").click()
    expect(loaded.get_by_label("Token ids")).to_be_enabled()


@pytest.mark.parametrize(
    ("ids", "place", "detail"),
    [
        ("", "token ids", "no token id is given"),
        ("1, two", "token ids, item 1", '"two" is no token id'),
        ("1 -2", "token ids, item 1", '"-2" is no token id'),
        ("1.5", "token ids, item 0", '"1.5" is no token id'),
        ("99999999999", "token ids, item 0", '"99999999999" is no token id'),
        ("5 70", "case typed, tokens[1]", "70 in a vocabulary of 70"),
    ],
)
def test_bad_ids_are_refused_with_their_place(
    loaded: Page, ids: str, place: str, detail: str
) -> None:
    run(loaded, ids)
    alert = loaded.get_by_role("alert")
    expect(alert).to_contain_text(f"at {place}")
    expect(alert).to_contain_text(detail)
    expect(alert).to_contain_text("What to do:")
    run(loaded, "1")
    expect(alert).to_be_hidden()


@pytest.mark.parametrize(
    ("content", "place", "detail"),
    [
        ("{", "case file", "JSON"),
        ("5", "schema", "undefined"),
        ("null", "schema", "undefined"),
        ({**CASES, "schema": "other"}, "schema", '"other" is not trlm.process.cases.v1'),
        ({**CASES, "cases": []}, "cases", "no filled list"),
        ({**CASES, "cases": [None]}, "cases[0]", "is no object"),
        ({**CASES, "cases": [{"case_id": "../x", "token_ids": [1]}]}, "cases[0]", "no case id"),
        ({**CASES, "cases": [{"case_id": "a"}]}, "cases[0]", "token_ids is no list"),
        ({**CASES, "cases": [{"case_id": "a", "token_ids": []}]}, "cases[0]", "is empty"),
        (
            {**CASES, "cases": [{"case_id": "a", "token_ids": [1, 1.5]}]},
            "cases[0], token_ids[1]",
            "1.5 is out of range",
        ),
        (
            {**CASES, "cases": [{"case_id": "a", "token_ids": [1], "attention_mask": [1, 1]}]},
            "cases[0]",
            "attention_mask has 2 entries for 1 token ids",
        ),
        (
            {**CASES, "cases": [{"case_id": "a", "token_ids": [1], "window": 5}]},
            "cases[0]",
            'the field "window" is unknown',
        ),
        ({**CASES, "cases": [CASES["cases"][0]] * 2}, "cases[1]", "short occurs twice"),
    ],
)
def test_bad_case_files_are_refused_with_their_place(
    page: Page, tmp_path: Path, content: object, place: str, detail: str
) -> None:
    page.get_by_label("or a case file").set_input_files(cases_file(tmp_path / "c.json", content))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"CASES at {place}")
    expect(alert).to_contain_text(detail)
    expect(page.get_by_label("Token ids")).to_be_enabled()


def damaged(content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: b"", "TRUNCATED"),
        (lambda content: b"hello" * 100, "MAGIC"),
        (lambda content: content[:-1], "TRUNCATED"),
        (lambda content: damaged(content, 140), "HASH"),
        (lambda content: damaged(content, 170), "HASH"),
        (lambda content: damaged(content, len(content) - 100), "HASH"),
    ],
    ids=["empty", "other file", "cut short", "self hash", "Merkle root", "weights"],
)
def test_a_bad_file_is_refused_and_the_next_one_loads(
    page: Page, tiny_slm: Path, tmp_path: Path, change: Any, code: str
) -> None:
    path = tmp_path / "bad.slm"
    path.write_bytes(change(tiny_slm.read_bytes()))
    page.get_by_label("Packed model").set_input_files(path)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"{code} at bad.slm")
    expect(alert).to_contain_text("What to do:")
    expect(page.get_by_role("button", name="Run")).to_be_disabled()
    page.get_by_label("Packed model").set_input_files(tiny_slm)
    expect(page.get_by_text("Ready to run.")).to_be_visible()
    expect(alert).to_be_hidden()


def test_cancelling_keeps_the_model(loaded: Page, tmp_path: Path) -> None:
    many = [{"case_id": f"c{i}", "token_ids": [1] * 60} for i in range(3000)]
    loaded.get_by_label("or a case file").set_input_files(
        cases_file(tmp_path / "many.json", {**CASES, "cases": many})
    )
    loaded.get_by_role("button", name="Run").click()
    expect(loaded.locator("#status")).to_contain_text(re.compile(r"Case \d+ of 3000, Step"))
    loaded.get_by_role("button", name="Cancel").click()
    expect(loaded.get_by_text("Cancelled.")).to_be_visible()
    assert 0 < len(report_of(loaded)["cases"]) < 3000
    loaded.get_by_role("button", name="use the ids above").click()
    run(loaded, "1, 2")
    expect(loaded.locator("#status")).to_contain_text("Done in")


def test_the_report_is_of_the_model_that_ran(loaded: Page, tmp_path: Path, tiny_slm: Path) -> None:
    run(loaded, "1")
    loaded.get_by_label("Packed model").set_input_files(
        cases_file(tmp_path / "other.slm", "not a model")
    )
    expect(loaded.get_by_role("alert")).to_contain_text("at other.slm")
    assert report_of(loaded)["artifact"]["sha256"] == file_sha256(tiny_slm)


def test_stopping_twice_ends_the_worker(loaded: Page) -> None:
    # Both presses before the worker can answer.
    loaded.get_by_label("Token ids").fill("1, 2")
    loaded.evaluate(
        """() => { const press = (id) => document.getElementById(id).click();
                   press("run"); press("cancel"); press("cancel"); }"""
    )
    expect(loaded.get_by_text("Cancelled.")).to_be_visible()
    expect(loaded.get_by_role("button", name="Run")).to_be_disabled()
    expect(loaded.locator("#model")).to_be_hidden()


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_overflows_in_either_scheme(loaded: Page, width: int, scheme: Any) -> None:
    loaded.emulate_media(color_scheme=scheme)
    loaded.set_viewport_size({"width": width, "height": 800})
    run(loaded, "1, 2, 3")
    assert loaded.evaluate("document.documentElement.scrollWidth") <= width
    colours = loaded.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    text, ground = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (text < ground) == (scheme == "light")


def test_every_control_has_a_name(loaded: Page) -> None:
    run(loaded, "1")
    unnamed = loaded.evaluate(
        """() => [...document.querySelectorAll("input, textarea, select")]
             .filter((control) => control.labels.length === 0).map((control) => control.id)"""
    )
    assert unnamed == []
