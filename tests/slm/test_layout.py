"""The byte tables stand where the format puts them."""

import pytest

from trlm_lab.slm.layout import (
    HEADER,
    PIECE_DESC,
    SHARD_DESC,
    TENSOR_DESC,
    ByteTable,
    Field,
    aligned,
)

#: Typed from the format's tables, not from the code.
HEADER_OFFSETS = {
    "magic": 0, "abi_major": 4, "abi_minor": 6, "header_len": 8, "flags": 16, "vocab": 24,
    "layers": 28, "heads": 32, "kv_heads": 36, "head_dim": 40, "ffn": 44,
    "max_context_declared": 48, "rope_theta_bits": 52, "rms_eps_bits": 56, "hidden": 60,
    "tensor_dir_off": 64, "tensor_count": 72, "tensor_desc_size": 76, "piece_table_off": 80,
    "piece_count": 88, "string_table_len": 92, "shard_table_off": 96, "shard_count": 104,
    "config_len": 108, "tokenizer_off": 112, "tokenizer_len": 120, "artifact_len": 128,
    "self_sha256": 136, "merkle_root_sha256": 168, "legacy_checksum64": 200,
    "string_table_off": 208, "config_off": 216, "body_off": 224,
}  # fmt: skip
TENSOR_OFFSETS = {
    "name_id": 0, "role": 4, "dtype": 6, "layout": 8, "scale_encoding": 10, "flags": 12,
    "rank": 16, "dim_count": 17, "dims": 20, "logical_nbytes": 48, "data_off": 56,
    "data_len": 64, "aux_off": 72, "aux_len": 80, "alias_of": 84, "first_piece": 88,
    "piece_count": 92, "sha256_trunc128": 96, "row_stride": 112,
}  # fmt: skip
PIECE_OFFSETS = {
    "piece_index": 0, "shard_index": 4, "file_off": 8, "stored_len": 16, "logical_len": 20,
    "sha256": 24,
}  # fmt: skip
SHARD_OFFSETS = {
    "shard_index": 0, "kind": 4, "codec": 6, "artifact_family": 8, "shard_len": 12,
    "shard_sha256": 20,
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "offsets", "size", "reserved"),
    [
        (HEADER, HEADER_OFFSETS, 256, [(12, 16), (78, 80), (232, 256)]),
        (TENSOR_DESC, TENSOR_OFFSETS, 128, [(18, 20), (44, 48), (116, 128)]),
        (PIECE_DESC, PIECE_OFFSETS, 56, []),
        (SHARD_DESC, SHARD_OFFSETS, 52, []),
    ],
    ids=["header", "tensor", "piece", "shard"],
)
def test_offsets(
    table: ByteTable, offsets: dict[str, int], size: int, reserved: list[tuple[int, int]]
) -> None:
    assert {name: f.offset for name, f in table.fields.items()} == offsets
    assert (table.size, table.reserved) == (size, reserved)
    zeros = table.unpack(memoryview(bytes(size)), 0)
    assert table.pack(zeros) == bytes(size)


def test_overlapping_fields_are_a_mistake_of_the_table() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        ByteTable(8, Field(0, "I", "a"), Field(2, "I", "b"))


def test_aligned() -> None:
    assert [aligned(n, 64) for n in (0, 1, 64, 65)] == [0, 64, 64, 128]
