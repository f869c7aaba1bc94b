"""A TOK2 block in a real browser: the ids, offsets and bytes of the reference, and the page."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import packed
from tests.text.constructed import added, byte_bpe, document
from tests.text.slm1.made import small
from trlm_lab.backends.browser import ChromiumRunner
from trlm_lab.backends.browser.find import find_chromium
from trlm_lab.backends.browser.resources import resources
from trlm_lab.backends.browser.server import PageServer
from trlm_lab.backends.browser.tokenizer import (
    MOST_IDS,
    MOST_IN_A_MESSAGE,
    ChromiumTokenizer,
)
from trlm_lab.backends.tokenizer_texts import sample_texts
from trlm_lab.errors import (
    BrowserPageError,
    RuntimeRefusedError,
    TextTooLongError,
    TokenIdError,
    Utf8Error,
)
from trlm_lab.flows.text_views import visible
from trlm_lab.flows.tokenizer_engines import open_tokenizer, tokenizer_opened
from trlm_lab.flows.tokenizer_requests import Request
from trlm_lab.text import BOUNDS, Tokenizer, read_tokenizer
from trlm_lab.text.slm1 import write_bpe1
from trlm_lab.text.tok2 import write_tok2

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

DOCUMENT = document(
    byte_bpe(),
    added_tokens=[added("<|end|>", 400, "special")],
    pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
    decoder={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
)


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    return read_tokenizer(DOCUMENT)


@pytest.fixture(scope="module")
def opened(chromium: ChromiumRunner, reference: Tokenizer) -> Iterator[ChromiumTokenizer]:
    with ChromiumTokenizer(write_tok2(reference)) as tokenizer:
        yield tokenizer


def test_ids_offsets_and_bytes_are_the_references(
    opened: ChromiumTokenizer, reference: Tokenizer
) -> None:
    for text in ["", "\0", "\ufeff", "\ufeff\ufeffa", *sample_texts(60, 7, ("<|end|>",))]:
        ids, offsets = opened.encode(text.encode())
        wanted = reference.encode(text)
        assert ids.tolist() == wanted.ids, text
        assert [tuple(row) for row in offsets.tolist()] == wanted.offsets(), text
        for mode in ("raw", "visible", "diagnostic"):
            found = reference.decode(wanted.ids, mode)
            assert opened.decode(wanted.ids, mode) == (found.data, found.text), (text, mode)


def test_streams_and_stages_are_the_references(
    opened: ChromiumTokenizer, reference: Tokenizer
) -> None:
    text = "h\u00e9 <|end|>\U0001f642"
    ids = reference.encode(text).ids
    for mode in ("raw", "visible", "diagnostic"):
        ours, plain = opened.stream(mode), reference.stream(mode)
        assert ours.held == plain.held
        for stream in (ours, plain):
            with pytest.raises(TokenIdError) as unknown:
                stream.push(ids[0], 9999)
            assert unknown.value.facts == {"got": 9999, "index": 1}
        for run in (ids[:1], ids[1:4], [], *([number] for number in ids[4:-1])):
            assert ours.push(*run) == plain.push(*run)
            assert ours.held == plain.held
        assert ours.flush() == plain.flush()
        assert ours.push(*ids[:2]) == plain.push(*ids[:2])
    content = [(0, 7)]
    wanted = reference.encode(text, trace=True, add_special_tokens=True, content=[(0, 6)])
    assert opened.trace(text.encode(), add_special_tokens=True, content=content) == wanted
    with pytest.raises(Utf8Error):
        opened.trace(b"\xff")
    with pytest.raises(TextTooLongError):
        opened.trace(b"a" * (MOST_IN_A_MESSAGE + 1))
    with pytest.raises(BrowserPageError, match="ANSWER_TOO_LONG"):
        opened.trace(b"a" * 300_000)


def test_content_stays_data(opened: ChromiumTokenizer, reference: Tokenizer) -> None:
    as_template, _ = opened.encode(b"<|end|>")
    as_content, _ = opened.encode(b"<|end|>", content=[(0, 7)])
    assert as_template.tolist() == reference.encode("<|end|>").ids
    assert as_content.tolist() == reference.encode("<|end|>", content=[(0, 7)]).ids
    assert len(as_template) < len(as_content)


def test_long_texts_cross_as_files(opened: ChromiumTokenizer, reference: Tokenizer) -> None:
    text = "hello w\u00e9 <|end|>" * 62_000
    assert len(text.encode()) > MOST_IN_A_MESSAGE
    ids, offsets = opened.encode(text.encode(), content=[(0, 40)], add_special_tokens=True)
    wanted = reference.encode(text, content=[(0, 37)], add_special_tokens=True)
    assert ids.tolist() == wanted.ids
    assert [tuple(row) for row in offsets.tolist()] == wanted.offsets()


def test_long_texts_are_refused_like_short_ones(opened: ChromiumTokenizer) -> None:
    with pytest.raises(Utf8Error) as bad:
        opened.encode(b"a" * MOST_IN_A_MESSAGE + b"\xff")
    assert bad.value.facts["index"] == MOST_IN_A_MESSAGE
    with pytest.raises(TextTooLongError) as much:
        opened.encode(b"a" * (BOUNDS.bytes + 4))
    assert much.value.facts["limit"] == BOUNDS.bytes
    with pytest.raises(TextTooLongError):
        opened.decode([0] * (MOST_IDS + 1))
    assert opened.encode(b"a")[0].tolist() == [byte_bpe()["vocab"]["a"]]


def test_answers_beyond_a_message_are_refused(
    opened: ChromiumTokenizer, reference: Tokenizer
) -> None:
    end = reference.encode("<|end|>").ids
    with pytest.raises(BrowserPageError, match="ANSWER_TOO_LONG"):
        opened.decode(end * 600_000)
    assert opened.decode(end) == (b"<|end|>", "<|end|>")


def test_refusals_are_the_references(opened: ChromiumTokenizer) -> None:
    with pytest.raises(Utf8Error) as bad:
        opened.encode(b"ab\xed\xa0\x80")
    assert bad.value.facts["index"] == 2
    for number in (9999, 1 << 40):
        with pytest.raises(TokenIdError) as unknown:
            opened.decode([1, number])
        assert unknown.value.facts["index"] == 1
    # A bad text spoils none after it.
    assert opened.encode(b"a")[0].tolist() == [byte_bpe()["vocab"]["a"]]


def test_it_is_an_engine_of_the_command_line(
    chromium: ChromiumRunner, reference: Tokenizer, tmp_path: Path
) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(DOCUMENT))
    engine = open_tokenizer(file, "wasm@chromium")
    row = engine.tokenize(Request("hello wo\u00e9<|end|>", add_special_tokens=True))
    wanted = reference.encode("hello wo\u00e9<|end|>", add_special_tokens=True)
    assert row["ids"] == wanted.ids
    assert row["offsets"] == [list(span) for span in wanted.offsets()]
    assert engine.decode(wanted.ids, "raw")["text"] == "hello wo\u00e9<|end|>"


def test_a_tokenizer_of_slm1(chromium: ChromiumRunner, tmp_path: Path) -> None:
    """The file itself is served; the module makes the block."""
    file = tmp_path / "words.bpe1"
    file.write_bytes(write_bpe1(small()))
    with tokenizer_opened(file, "wasm@chromium") as engine:
        row = engine.tokenize(Request("hello wo\u00e9", add_special_tokens=True))
        assert row["ids"] == small().encode("hello wo\u00e9".encode())
        assert engine.decode(row["ids"], "raw")["text"] == "hello wo\u00e9"


def test_a_damaged_block_is_refused(chromium: ChromiumRunner, reference: Tokenizer) -> None:
    block = bytearray(write_tok2(reference))
    block[-1] ^= 1
    with pytest.raises(RuntimeRefusedError, match="TOK2_HASH"):
        ChromiumTokenizer(bytes(block))


@pytest.fixture(scope="module")
def browser(chromium: ChromiumRunner) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=find_chromium().executable)
        yield started
        started.close()


def page_with(browser: Browser, file: Path) -> Iterator[Page]:
    """The page with a file loaded."""
    with PageServer(resources(file)) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.get_by_role("button", name=f"Load {file.name}").click()
        expect(page.locator("#model")).to_contain_text(file.name)
        yield page
        page.close()


@pytest.fixture
def block_page(browser: Browser, reference: Tokenizer, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "words.tok2"
    file.write_bytes(write_tok2(reference))
    yield from page_with(browser, file)


@pytest.fixture
def model_page(browser: Browser, reference: Tokenizer, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "model.slm"
    file.write_bytes(packed(write_tok2(reference)))
    yield from page_with(browser, file)


def test_a_person_types_and_sees_tokens(block_page: Page, reference: Tokenizer) -> None:
    block_page.locator("#text").fill("hello wo\u4e2d<|end|>")
    ids = reference.encode("hello wo\u4e2d<|end|>").ids
    expect(block_page.locator("#pieces small")).to_have_text([str(number) for number in ids])
    expect(block_page.locator("#pieces .piece span").last).to_have_text("<|end|>")
    expect(block_page.locator("#text-status")).to_have_text(f"{len(ids)} tokens of 18 bytes")
    # And sees them come back: two bytes of three wait.
    stream = reference.stream()
    come = [visible(stream.push(number).text) or "\u2026" for number in ids]
    assert come[-4:] == ["\u2026", "\u2026", "\u4e2d", "<|end|>"]
    expect(block_page.locator("#streamed .piece")).to_have_text(come)
    # A tokenizer alone runs nothing.
    expect(block_page.get_by_role("button", name="Run", exact=True)).to_be_disabled()


def test_a_person_sees_every_stage(block_page: Page, reference: Tokenizer) -> None:
    rows = block_page.locator("#stages tbody tr")
    text = "hello wo\u4e2d \ufeff<|end|>"
    block_page.locator("#text").fill(text)
    ids = reference.encode(text).ids
    expect(block_page.locator("#pieces small")).to_have_text([str(number) for number in ids])
    expect(rows).to_have_count(0)
    block_page.locator("#stages summary").click()
    stages = reference.encode(text, trace=True).stages
    expect(rows).to_have_count(len(stages))
    for number, stage in enumerate(stages):
        cells = rows.nth(number).locator("td")
        assert cells.all_text_contents()[:2] == [stage.name, stage.kind]
        pieces = cells.nth(2).locator(".piece").all_text_contents()
        assert pieces == [visible(piece.text) for piece in stage.pieces]


def test_tokens_become_the_input_of_a_run(model_page: Page, reference: Tokenizer) -> None:
    model_page.locator("#text").fill("AB")
    expect(model_page.locator("#pieces small")).to_have_count(2)
    model_page.get_by_role("button", name="Use as token ids").click()
    wanted = ", ".join(map(str, reference.encode("AB").ids))
    expect(model_page.locator("#token-ids")).to_have_value(wanted)
    model_page.get_by_role("button", name="Run", exact=True).click()
    texts = model_page.locator("#next-tokens tbody td:nth-child(2)")
    expect(texts).to_have_count(10)
    ids = model_page.locator("#next-tokens tbody td:first-child").all_inner_texts()
    shown = [reference.decode([int(number)]).text for number in ids]
    assert texts.all_text_contents() == [json.dumps(text, ensure_ascii=False) for text in shown]


def test_without_tokenizer_there_is_no_box(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "bare.slm"
    file.write_bytes(packed(b""))
    for page in page_with(browser, file):
        expect(page.locator("#model")).to_contain_text("no")
        expect(page.locator("#text-card")).to_be_hidden()
