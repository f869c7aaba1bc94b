"""Calibration text of a source, and the codes of a calibrated quantizer made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trlm_lab.acquire.text_data import Document, documents, text_packages
from trlm_lab.base import canon, strict_json
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.calibrate.corpus import Corpus, TextSource
from trlm_lab.calibrate.corpus_choice import Encoded, make_corpus
from trlm_lab.calibrate.overlap import Judged
from trlm_lab.cases.suites import load_suite, suite_names
from trlm_lab.errors import CalibrationRecordError, TrlmError
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.identity import packer_sha256
from trlm_lab.flows.progress import Board
from trlm_lab.flows.tokenizer_engines import Request, open_tokenizer
from trlm_lab.pack.calibrated import CALIBRATED
from trlm_lab.pack.codes import Codes, open_codes
from trlm_lab.pack.derive_codes import derive_codes
from trlm_lab.pack.profiles import quant_profile_id
from trlm_lab.pack.source import open_sources

TOKENIZER = "tokenizer.json"
HELD_OUT = "held-out"


def encoded(root: Path, config: EffectiveConfig, texts: Sequence[Document]) -> Iterator[Encoded]:
    """Every document in ids of the source's own library, a begin-of-text id before it."""
    tokenizer = open_tokenizer(root / TOKENIZER, "hf")
    begin = [] if config.bos_token_id is None else [config.bos_token_id]
    for one in texts:
        yield one.name, one.sha256, [*begin, *tokenizer.tokenize(Request(one.text))["ids"]]


def judged_suites(against: Sequence[str]) -> list[Judged]:
    """The ids of every built-in judged suite, and of suites or case files. Raises as `load_suite`.

    Ids of another vocabulary are looked for too: they cost nothing and are not found.
    """
    own = [name for name in suite_names() if name.endswith("-judged")]
    return [
        Judged(name, tuple(case.token_ids for case in load_suite(name).cases))
        for name in dict.fromkeys([*own, *against])
    ]


def text_corpus(
    root: Path,
    config: EffectiveConfig,
    against: Sequence[str] = (),
    *,
    records: int = 96,
    window: int = 256,
) -> Corpus:
    """A corpus of the calibration documents, disjoint from the held-out ones and what is judged.

    Raises:
        TextDataMissingError: the texts were not fetched.
        CalibrationRecordError: too few records are left.
        UnknownNameError, CaseFileError and others: as `load_suite` and `open_tokenizer`.
    """
    held = tuple(tuple(ids) for _, _, ids in encoded(root, config, documents(HELD_OUT)))
    judged = [Judged(HELD_OUT, held), *judged_suites(against)]
    sources = [
        TextSource(p.name, p.archive.package, p.archive.version, p.archive.file.sha256, p.licence)
        for p in text_packages().values()
    ]
    return make_corpus(
        sources,
        file_sha256(root / TOKENIZER),
        encoded(root, config, documents("calibration")),
        judged,
        window=min(window, config.max_position_embeddings),
        wanted=records,
    )


def read_corpus(path: Path) -> Corpus:
    """The corpus of a file.

    Raises:
        CalibrationRecordError: it holds none.
    """
    try:
        row = strict_json.load_object(path)
    except TrlmError as error:
        raise CalibrationRecordError(where=path.name, detail=error.detail) from error
    return Corpus.from_map(row, path.name)


def calibrated_codes(
    source: Source,
    described: Described,
    quant: str,
    corpus: Corpus,
    board: Board,
    against: Sequence[str] = (),
) -> Codes:
    """The codes of a source, from the cache or made by the oracle's activations.

    Raises:
        UnknownNameError: no such calibrated profile.
        CalibrationTextOverlapError: the corpus shares ids with a judged suite or one of `against`.
        CalibrationRecordError: a corpus of another tokenizer or vocabulary.
        OracleMissingError, OracleModelError: the oracle cannot run the source.
        QuantGramError and its neighbours: as the algorithm.
    """
    name = CALIBRATED[quant].name
    corpus.check_disjoint(judged_suites(against), quant)
    _require_own(source.root, described.config, corpus)
    key = canon.content_id(
        [
            source.snapshot.snapshot_id,
            described.config.config_id,
            quant_profile_id(name),
            corpus.corpus_id,
            packer_sha256(),
        ]
    )
    path = trlm_home() / "codes" / key / "codes.safetensors"
    if path.is_file():
        try:
            return open_codes(path)
        except TrlmError:
            board.say("the cached codes are damaged and are made again")
    from trlm_lab.oracle.calibration import calibration_grams

    board.say(f"activations of {len(corpus.records)} records")
    grams = calibration_grams(source.root, [one.ids for one in corpus.records])
    sources = open_sources(source.root, described.config)
    return derive_codes(sources, name, grams, corpus.lineage, path, board.report)


def _require_own(root: Path, config: EffectiveConfig, corpus: Corpus) -> None:
    tokenizer = root / TOKENIZER
    if tokenizer.is_file() and file_sha256(tokenizer) != corpus.tokenizer_sha256:
        detail = "it was made with another tokenizer than that of the source"
        raise CalibrationRecordError(where=root.name, detail=detail)
    top = max((max(one.ids) for one in corpus.records if one.ids), default=0)
    if not corpus.records or top >= config.vocab_size:
        detail = f"the largest id is {top} in {len(corpus.records)} records"
        detail += f", the vocabulary has {config.vocab_size}"
        raise CalibrationRecordError(where=root.name, detail=detail)
