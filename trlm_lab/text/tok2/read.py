"""A tokenizer out of TOK2, by the rules of docs/formats/tok2 in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from trlm_lab.errors import (
    Tok2AddedError,
    Tok2Error,
    Tok2IndexError,
    Tok2MergesError,
    Tok2ModelError,
    Tok2OrderError,
    Tok2PatternsError,
    Tok2RolesError,
    Tok2ScoresError,
    Tok2SetsError,
    Tok2StagesError,
    Tok2StringsError,
    Tok2TablesError,
    Tok2TokensError,
)
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.ggml.partition import Partition
from trlm_lab.text.models import Model
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.model_file import ModelFile
from trlm_lab.text.sentencepiece.reading import tokenizer_of
from trlm_lab.text.text_sets import TextSets
from trlm_lab.text.tok2 import read_model
from trlm_lab.text.tok2.frame import Frame, read_frame
from trlm_lab.text.tok2.hashing import Numbers
from trlm_lab.text.tok2.numbers import LAST_OP, LITERAL, MERGED, NOTES, ONE_OF, ROLES
from trlm_lab.text.tok2.pattern_rows import Row
from trlm_lab.text.tok2.read_gguf import built_gguf, pieces_of, require_bytes
from trlm_lab.text.tok2.read_pieces import model_file, read_pieces
from trlm_lab.text.tok2.read_pools import read_patterns, read_sets, read_strings, read_tables
from trlm_lab.text.tok2.read_stages import PoolMembers, read_added, read_stages
from trlm_lab.text.tok2.section import Section
from trlm_lab.text.tok2.stage_kinds import PieceFlags
from trlm_lab.text.tok2.walk import Use, require_order
from trlm_lab.text.tokenizer import Tokenizer

_ERRORS: dict[str, type[Tok2Error]] = {
    "strings": Tok2StringsError, "sets": Tok2SetsError, "tables": Tok2TablesError,
    "patterns": Tok2PatternsError, "stages": Tok2StagesError, "added": Tok2AddedError,
    "model": Tok2ModelError, "tokens": Tok2TokensError, "order": Tok2OrderError,
    "index": Tok2IndexError, "merges": Tok2MergesError, "scores": Tok2ScoresError,
    "roles": Tok2RolesError,
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """What a TOK2 block holds; `sha256` is the hash that stands in it."""

    tokenizer: Tokenizer | SentencePieceTokenizer
    roles: tuple[tuple[str, int], ...]
    template: bytes
    sha256: str


def read_tok2(data: bytes | memoryview) -> Compiled:
    """The tokenizer of a block, with nothing taken from anywhere else.

    Raises:
        Tok2Error: the first rule that the bytes break, by its subclass.
    """
    return _Reader(read_frame(memoryview(data).toreadonly())).read()


class _Reader:
    """One block, section by section."""

    def __init__(self, frame: Frame) -> None:
        self._frame, self._header = frame, frame.header
        self._uses: dict[str, list[Use]] = {}

    def _section(self, name: str) -> Section:
        view, offset = self._frame.sections[name]
        return Section(view, offset, _ERRORS[name])

    def read(self) -> Compiled:
        """All of it."""
        pools = self._pools()
        profile = self._header.profile
        stages, self._uses["stages"] = read_stages(self._section("stages"), pools, profile)
        added, word, space, self._uses["added"] = read_added(
            self._section("added"), pools, self._header.added_count, profile
        )
        parameters, self._uses["model"] = read_model.read_parameters(
            self._section("model"), pools, self._header
        )
        model, ids = self._model(parameters, stages)
        roles = self._roles({*ids.tolist(), *(one.id for one in added)})
        self._walk(pools)
        sets = TextSets(word, space, parameters.hidden)
        tokenizer = self._tokenizer(model, added, stages, sets)
        if isinstance(tokenizer, Tokenizer):
            self._require_forms(tokenizer)
        template = bytes(self._frame.sections["template"][0])
        return Compiled(tokenizer, roles, template, self._header.self_sha256.hex())

    def _tokenizer(
        self,
        model: Model | ModelFile,
        added: tuple[AddedToken, ...],
        stages: dict[str, Any],
        sets: TextSets,
    ) -> Tokenizer | SentencePieceTokenizer:
        notes = tuple(
            f"{name} is declared and switched off"
            for bit, name in enumerate(NOTES)
            if self._header.flags >> bit & 1
        )
        if isinstance(model, ModelFile):
            return tokenizer_of(model, notes=notes, hidden=sets.hidden)
        given = Partition(added) if self._header.profile == 2 else None
        return Tokenizer(
            model, self._frame.model, added, notes=notes, sets=sets, given=given, **stages
        )

    def _require_forms(self, tokenizer: Tokenizer) -> None:
        if (index := tokenizer.erased) is not None:
            content = repr(tokenizer.added[index].content)
            wanted = "a text that the normalizers leave something of"
            self._section("added").fail(16 + 16 * index + 8, "a content", content, wanted)
        if found := tokenizer.ambiguous:
            content = repr(tokenizer.added[found[0]].content)
            wanted = "a text that the normalizers write otherwise than those before"
            self._section("added").fail(16 + 16 * found[0] + 8, "a content", content, wanted)

    def _pools(self) -> PoolMembers:
        strings = read_strings(self._section("strings"))
        sets = read_sets(self._section("sets"))
        tables = read_tables(self._section("tables"))
        section = self._section("patterns")
        last_op = LAST_OP[self._header.profile]
        patterns, nodes = read_patterns(section, strings, sets, last_op)
        self._uses["patterns"] = list(_node_uses(nodes, section.offset + 16))
        return PoolMembers(strings, sets, tables, patterns)

    def _model(
        self, parameters: read_model.Parameters, stages: dict[str, Any]
    ) -> tuple[Model | ModelFile, Numbers]:
        header = self._header
        section = self._section("tokens")
        tokens = read_model.read_tokens(section, header.token_count)
        texts = read_model.token_texts(section, tokens)
        order = self._section("order")
        ids = read_model.read_order(order, header.token_count, header.id_limit)
        read_model.read_index(self._section("index"), tokens)
        merges: Merges = {}
        scores: list[float] = []
        if parameters.kind in MERGED:
            positions = order.numbers(4 * header.token_count, header.id_limit)
            merges = read_model.read_merges(self._section("merges"), header.merge_count, positions)
        if parameters.kind == "Unigram":
            scores = read_model.read_scores(self._section("scores"), header.token_count)
        by_text = dict(zip(texts, ids.tolist(), strict=True))
        if header.profile == 2:
            return self._gguf(parameters, by_text, merges, stages), ids
        if header.profile == 3:
            sections = self._section("scores"), self._section("model")
            pieces = read_pieces(*sections, by_text, parameters)
            return model_file(parameters, pieces, stages), ids
        return read_model.built(parameters, by_text, merges, scores), ids

    def _gguf(
        self,
        parameters: read_model.Parameters,
        texts: dict[str, int],
        merges: Merges,
        stages: dict[str, Any],
    ) -> Model:
        """The model, and the decoder of pieces put in its place."""
        section = self._section("scores")
        kinds, ranks = read_model.read_kinds(section, len(texts), parameters.kind)
        require_bytes(self._section("model"), parameters, texts)
        real = parameters.real if parameters.kind == "GGUF BPE" else len(texts)
        stages["decoders"] = tuple(
            replace(one, stage=pieces_of(section, one.stage, kinds, texts, real))
            if isinstance(one.stage, PieceFlags)
            else one
            for one in stages["decoders"]
        )
        return built_gguf(parameters, texts, merges, ranks)

    def _roles(self, known: set[int]) -> tuple[tuple[str, int], ...]:
        section = self._section("roles")
        section.need(4, 0, "the section")
        count = section.u32(0)
        section.exactly(4 + 8 * count, 0, "the count")
        before = (0, -1)
        out: list[tuple[str, int]] = []
        for at in range(4, 4 + 8 * count, 8):
            role, number = section.u32(at), section.u32(at + 4)
            if not 1 <= role <= len(ROLES):
                section.fail(at, "a role", role, f"1 to {len(ROLES)}")
            if (role, number) <= before:
                section.fail(at, "a role", (role, number), f"behind {before}")
            if number not in known:
                section.fail(at + 4, "an id", number, "the id of a token")
            before = (role, number)
            out.append((ROLES[role - 1], number))
        return tuple(out)

    def _walk(self, pools: PoolMembers) -> None:
        uses = (
            use for name in ("model", "added", "stages", "patterns") for use in self._uses[name]
        )
        offsets = {name: self._frame.sections[name][1] for name in pools.sizes()}
        require_order(uses, pools.sizes(), offsets)


def _node_uses(nodes: list[Row], offset: int) -> Iterator[Use]:
    pools = {LITERAL: "strings", ONE_OF: "sets"}
    for index, (op, _, reference, _, _) in enumerate(nodes):
        if op in pools:
            yield pools[op], reference, offset + 16 * index + 4
