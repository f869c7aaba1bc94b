"""A migrated file against the SLM1 file that it was made of: the ledger of both, and its proof."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import EffectiveConfig, Ledger
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.ledger_proof import ledger_differences
from trlm_lab.pack.ledger_rules import LedgerFinding, rule_findings
from trlm_lab.pack.profile_choice import profile_by
from trlm_lab.pack.profiles import PackProfile
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.slm1.files import open_checked
from trlm_lab.pack.slm1.migrate import by_source_name, migration_ledger, stored_rows, tok2_of
from trlm_lab.slm.read import SlmFile, SlmTensor, open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm1.config import effective_config
from trlm_lab.slm1.read import Slm1File


@dataclass(frozen=True)
class Migration:
    """Both files, whole and verified, and the profile that the new one is stored by."""

    slm1: Slm1File
    slm: SlmFile
    config: EffectiveConfig
    profile: PackProfile

    @classmethod
    def open(cls, artifact: Path, source: Path, *, unchecked: bool = False) -> Migration:
        """Open both.

        Raises:
            SlmError, Slm1Error: a file is malformed or damaged, or no profile stores like this.
        """
        slm1 = open_checked(source, unchecked=unchecked)
        slm = open_slm(map_file(artifact), where=artifact.name)
        verify_all(slm)
        config = EffectiveConfig.from_map(slm.config)
        held = by_source_name(slm1)

        def first_rows(name: str) -> tuple[int, NDArray[np.float32]] | None:
            known = name in held
            return (
                (0, np.ascontiguousarray(next(stored_rows(held[name], config)))) if known else None
            )

        return cls(slm1, slm, config, profile_by(slm, first_rows))

    def ledger(self) -> Ledger:
        """What became of each tensor, by the bytes of both files."""
        return migration_ledger(self.slm1, self.slm, self.profile.name)


def prove_migration(
    migration: Migration, said: Ledger | None = None, progress: Progress = silent
) -> list[LedgerFinding]:
    """Every finding about both files and about a ledger that is `said` to be theirs.

    Each tensor is decoded from the SLM1 file and stored anew; configuration and tokenizer follow
    from that file as well.
    """
    slm1, slm, config = migration.slm1, migration.slm, migration.config
    derived = migration.ledger()
    found = rule_findings(
        said or derived,
        [tensor.placed.named.name for tensor in slm1.tensors],
        [tensor.name for tensor in slm.tensors],
        rotary=config.rope_order == "half_split",
    )
    if said is not None:
        found += ledger_differences(said, derived)
    if replace(effective_config(slm1), rope_order=config.rope_order) != config:
        detail = "the configuration is another than the header gives"
        found.append(LedgerFinding("LEDGER_CONFIG", slm.where, detail))
    if tok2_of(slm1, config) != bytes(slm.tokenizer):
        detail = "the tokenizer is another than the section compiles to"
        found.append(LedgerFinding("LEDGER_TOKENIZER", slm.where, detail))
    return [*found, *_stored_anew(migration, progress)]


def _stored_anew(migration: Migration, progress: Progress) -> Iterator[LedgerFinding]:
    held, tensors = by_source_name(migration.slm1), migration.slm.tensors
    for done, tensor in enumerate(tensors):
        progress("store anew", done, len(tensors))
        if tensor.alias_of is None and tensor.name in held:
            rows = stored_rows(held[tensor.name], migration.config)
            again = _encoded(migration.profile, tensor, rows)
            if again != _payload(tensor):
                detail = f"stored anew it has the hash {again[:16]}…"
                yield LedgerFinding("LEDGER_QUANTIZE", tensor.name, detail)
    progress("store anew", len(tensors), len(tensors))


def _encoded(profile: PackProfile, tensor: SlmTensor, blocks: Iterator[NDArray[np.float32]]) -> str:
    encode, first = profile.encoder(tensor.dtype), 0
    digest, scales = hashlib.sha256(), []
    for rows in blocks:
        data, scale = encode(np.ascontiguousarray(rows), tensor.name, first)
        digest.update(data)
        scales.append(scale)
        first += len(rows)
    digest.update(b"".join(scales))
    return digest.hexdigest()


def _payload(tensor: SlmTensor) -> str:
    digest = hashlib.sha256(tensor.data)
    digest.update(tensor.scales)
    return digest.hexdigest()
