"""What is climbed: a tensor of an artifact beside the source that it was packed from."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.model_parts import EMBEDDING, FINAL_NORM, HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import (
    LadderArtifactError,
    LadderResidualError,
    LadderRowError,
    LadderTensorError,
)
from trlm_lab.flows.quant_ladder.stored import Stored, stored_slm1, stored_slm2
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.profile_choice import profile_of
from trlm_lab.pack.slm1.files import is_slm1, open_checked
from trlm_lab.pack.source import Part, Sources, open_sources
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_self
from trlm_lab.slm1.config import effective_config
from trlm_lab.slm1.names import OUTPUT, TOK_EMBEDDINGS
from trlm_lab.slm1.read import Slm1File, Slm1Tensor

Array = NDArray[Any]


@dataclass(frozen=True)
class LadderSubject:
    """A tensor in its artifact and in its source.

    `name` is the model's own name of it, `role` what it does there, `layer` its layer (None outside
    them), `config` the artifact's; `ids` bind receipts.
    """

    root: Path
    artifact: Path
    config: EffectiveConfig
    source_config: EffectiveConfig
    name: str
    role: str
    layer: int | None
    part: Part
    stored: Stored
    profile: str
    ids: dict[str, str] = field(default_factory=dict)
    #: The codes of a calibrated quantizer, which are an input and follow from no rounding.
    codes: Codes | None = None

    def given(self, span: tuple[int, int]) -> tuple[Array, Array] | None:
        """Codes and scale words of rows where they are an input, else None."""
        if self.codes is None:
            return None
        tied = self.name == HEAD and self.config.tie_word_embeddings
        found = self.codes.coded(EMBEDDING if tied else self.name, span[0], span[1] - span[0])
        return found.codes.astype(np.int64), found.words.astype(np.int64)

    @property
    def rows(self) -> int:
        """Rows of the tensor as a matrix; a vector is one."""
        return self.stored.rows

    @property
    def cols(self) -> int:
        """Its columns."""
        return self.stored.cols

    def span(self, row: int | None) -> tuple[int, int]:
        """The rows that are climbed: one, or all.

        Raises:
            LadderRowError: there is no such row.
        """
        if row is None:
            return 0, self.rows
        self._require("row", row, self.rows)
        return row, row + 1

    def require_column(self, column: int) -> None:
        """Refuse a column beyond the tensor. Raises LadderRowError."""
        self._require("column", column, self.cols)

    def _require(self, axis: str, got: int, count: int) -> None:
        if not 0 <= got < count:
            raise LadderRowError(
                where="trlm ladder", axis=axis, got=got, tensor=self.name, count=count,
                last=count - 1,
            )  # fmt: skip


def open_ladder(
    root: Path,
    config: EffectiveConfig,
    artifact: Path,
    tensor: str,
    codes: Codes | None = None,
) -> LadderSubject:
    """Open a tensor of an artifact of either version; `config` is that of the source.

    `codes` are those that a calibrated artifact was packed from.

    Raises:
        LadderTensorError, LadderResidualError: no tensor of this name, or a residual.
        LadderArtifactError: the artifact is of another snapshot.
        CodesMismatchError: the codes are.
        Refused: artifact or source break a rule.
    """
    sources = open_sources(root, config)
    if codes is not None:
        codes.check(sources)
    if is_slm1(artifact):
        return _of_slm1(sources, config, artifact, tensor)
    return _of_slm2(sources, config, artifact, tensor, codes)


def _of_slm2(
    sources: Sources, config: EffectiveConfig, artifact: Path, tensor: str, codes: Codes | None
) -> LadderSubject:
    slm = open_slm(map_file(artifact), where=artifact.name)
    verify_self(slm)
    own = EffectiveConfig.from_map(slm.config)
    _require_config(artifact, own, config)
    _require_norm(artifact, _norm_of(slm), sources)
    if tensor not in slm:
        raise _no_tensor(artifact, tensor, [t.name for t in slm.tensors if not t.residual_of])
    found = slm.tensor(tensor)
    if found.residual_of is not None:
        raise LadderResidualError(where=artifact.name, name=tensor, base=found.residual_of)
    profile = profile_of(slm, sources, codes)
    target = found.alias_of or tensor
    stored = stored_slm2(slm, found, profile, slm.residual_of(tensor))
    part = sources.parts[target]
    ids = {"artifact_sha256": file_sha256(artifact), "config_id": own.config_id}
    coded = codes is not None and target in codes.record["tensors"]
    return LadderSubject(
        sources.root, artifact, own, config, tensor, found.role.name, _layer(tensor), part,
        stored, profile.name, ids, codes if coded else None,
    )  # fmt: skip


def _of_slm1(
    sources: Sources, config: EffectiveConfig, artifact: Path, tensor: str
) -> LadderSubject:
    slm1 = open_checked(artifact)
    own = effective_config(slm1)
    _require_config(artifact, own, config)
    found = _slm1_tensor(slm1, artifact, tensor)
    named = found.placed.named
    wanted = HEAD if tensor in (HEAD, OUTPUT) else named.source_name
    _require_norm(artifact, slm1.tensor("norm.weight").decoded(0, 1)[0], sources, coarse=True)
    stored = stored_slm1(slm1, found)
    part = sources.parts[EMBEDDING if wanted not in sources.parts else wanted]
    ids = {"artifact_sha256": file_sha256(artifact), "config_id": own.config_id}
    return LadderSubject(
        sources.root, artifact, own, config, wanted, _role(wanted, own), _layer(wanted), part,
        stored, f"SLM1 {found.placed.codec.dtype.name}", ids,
    )  # fmt: skip


def _slm1_tensor(slm1: Slm1File, artifact: Path, tensor: str) -> Slm1Tensor:
    """By the file's own name or the source's; a tied head shows the embedding."""
    rows = {t.placed.named.name: t for t in slm1.tensors}
    by_source = {t.placed.named.source_name: t for t in slm1.tensors}
    if tensor in (HEAD, OUTPUT):
        return slm1.tensor(OUTPUT)
    found = rows.get(tensor) or by_source.get(tensor)
    if found is None:
        raise _no_tensor(artifact, tensor, [*by_source, TOK_EMBEDDINGS, OUTPUT])
    return found


def _no_tensor(artifact: Path, tensor: str, names: list[str]) -> LadderTensorError:
    near = difflib.get_close_matches(tensor, names, 3, 0.0)
    return LadderTensorError(where=artifact.name, name=tensor, near=", ".join(near))


def _role(name: str, config: EffectiveConfig) -> str:
    from trlm_lab.base.model_parts import model_tensors

    return next(t.role for t in model_tensors(config) if t.name == name)


def _layer(name: str) -> int | None:
    parts = name.split(".")
    return int(parts[2]) if parts[:2] == ["model", "layers"] else None


def _require_config(artifact: Path, own: EffectiveConfig, source: EffectiveConfig) -> None:
    """Sizes and layers must be those of the source; SLM1 cannot say the rest."""
    for name in (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "head_dim",
        "num_attention_heads", "num_key_value_heads", "tie_word_embeddings",
    ):  # fmt: skip
        got, wanted = getattr(own, name), getattr(source, name)
        if got != wanted:
            detail = f"its {name} is {got}, the source's {wanted}"
            raise LadderArtifactError(where=artifact.name, detail=detail)


def _norm_of(slm: SlmFile) -> Array:
    from trlm_lab.slm.read import dense_f32

    return np.asarray(dense_f32(slm.tensor(FINAL_NORM)))


def _require_norm(artifact: Path, norm: Array, sources: Sources, *, coarse: bool = False) -> None:
    """The final norm tells snapshots of one shape apart; `coarse` where the file rounds it.

    A rounded norm lies within its own step, the largest magnitude over seven.
    """
    from trlm_lab.pack.source import widened

    part = sources.parts[FINAL_NORM]
    own = widened(part.stored_elements(part.first, part.shape[0]), part.stored.info.dtype)
    far = np.abs(norm - own) > (np.abs(own).max() / 7 if coarse else 0)
    if far.any():
        at = int(np.argmax(far))
        detail = f"element {at} of its final norm is {norm[at]}, the source's {own[at]}"
        raise LadderArtifactError(where=artifact.name, detail=detail)
