"""A migrated file is proved against its SLM1 file, and what is not so is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.slm1.made import BTOK, SHAPE, weights
from trlm_lab.pack.slm1 import Migration, migrate, open_checked, prove_migration
from trlm_lab.pack.slm1.migrate import ROPE_ORDERS
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.write import assemble

#: A head of two pairs, whose order may be one or the other.
WIDE = replace(SHAPE, head_dim=4)
QUERIES = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture(params=["f32", "q8_r128", "q4_g64"])
def quant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=ROPE_ORDERS)
def migration(request: pytest.FixtureRequest, tmp_path: Path, quant: str) -> Migration:
    old, new = tmp_path / "old.slm", tmp_path / "new.slm"
    old.write_bytes(assemble(WIDE, DType.q8_0, BTOK, weights, block=2))
    migrate(old, new, quant=quant, rope_order=request.param)
    return Migration.open(new, old)


def test_a_migration_is_proved(migration: Migration, quant: str) -> None:
    assert migration.profile.name == quant
    assert prove_migration(migration) == []
    assert prove_migration(migration, migration.ledger()) == []


def test_another_source_is_found(migration: Migration, tmp_path: Path) -> None:
    other = tmp_path / "other.slm"
    data = assemble(WIDE, DType.q8_0, BTOK, lambda named: -weights(named), block=2)
    other.write_bytes(data)
    found = prove_migration(replace(migration, slm1=open_checked(other)))
    assert {one.code for one in found} == {"LEDGER_QUANTIZE"}
    assert [one.where for one in found] == [
        t.name for t in migration.slm.tensors if t.alias_of is None
    ]


def test_another_order_of_rows_is_found(migration: Migration) -> None:
    turned = next(name for name in ROPE_ORDERS if name != migration.config.rope_order)
    other = replace(migration, config=replace(migration.config, rope_order=turned))
    found = {(one.code, one.where) for one in prove_migration(other)}
    assert ("LEDGER_QUANTIZE", QUERIES) in found
    assert ("LEDGER_ROTARY", QUERIES) in found


def test_another_configuration_or_tokenizer_is_found(migration: Migration) -> None:
    config = replace(migration.config, rms_norm_eps=migration.config.rms_norm_eps * 2)
    slm = replace(migration.slm, tokenizer=memoryview(bytes(len(migration.slm.tokenizer))))
    found = prove_migration(replace(migration, config=config, slm=slm))
    assert [one.code for one in found] == ["LEDGER_CONFIG", "LEDGER_TOKENIZER"]


def test_a_ledger_that_says_otherwise_is_found(migration: Migration) -> None:
    ledger = migration.ledger()
    entry = replace(ledger.entries[0], source_sha256="0" * 64)
    said = replace(ledger, entries=(entry, *ledger.entries[1:]))
    assert [one.code for one in prove_migration(migration, said)] == ["LEDGER_SOURCE"]
