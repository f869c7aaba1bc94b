"""An engine's answer to a vector: equal in all that it shows, or the first stage that parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trlm_lab.text.vectors.record import Expected, Vector

#: Keys of an engine's answer, by the unit of its offsets.
OFFSET_KEYS = {
    "utf8_byte": "offsets", "normalized_utf8_byte": "offsets_normalized_utf8_byte",
    "scalar": "offsets_scalar", "utf16": "offsets_utf16",
}  # fmt: skip
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Parting:
    """Where an engine leaves a vector: the vector, the stage, what it gives and what is right."""

    name: str
    stage: str
    got: Any
    expected: Any

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        values = {"got": _shown(self.got), "expected": _shown(self.expected)}
        return {"vector": self.name, "stage": self.stage} | values


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes_hex": value.hex()}
    return list(value) if isinstance(value, tuple) else value


def first_parting(vector: Vector, answer: Row, decoded: Mapping[str, Row]) -> Parting | None:
    """The first difference, in the order of the stages.

    Args:
        vector: what is right.
        answer: ids and offsets of the engine with whatever stages it shows, or `{"failure": …}`.
        decoded: by mode, `bytes` or `text` or both, as far as the engine is exact there.
    """
    pairs = _pairs(vector, answer, decoded)
    found = next(((s, got, right) for s, got, right in pairs if got != right), None)
    return Parting(vector.name, *found) if found else None


def _pairs(
    vector: Vector, answer: Row, decoded: Mapping[str, Row]
) -> Iterator[tuple[str, Any, Any]]:
    wanted = vector.failure and {"code": vector.failure.code, "index": vector.failure.index}
    yield "input", answer.get("failure"), wanted
    if vector.expected is None:
        return
    right = vector.expected
    if "stages" in answer:
        yield from _stage_pairs(right, answer["stages"])
    if "normalized" in answer:
        yield "normalized", answer["normalized"], right.normalized
    if "tokens" in answer:
        yield "tokens", tuple(answer["tokens"]), right.tokens
    yield "ids", tuple(answer["ids"]), right.ids
    if "inserted" in answer:
        yield "inserted", tuple(answer["inserted"]), right.inserted
    for unit, key in OFFSET_KEYS.items():
        if key in answer:
            found = tuple(number for span in answer[key] for number in span)
            yield f"offsets {unit}", found, right.offsets[unit]
    for mode, row in decoded.items():
        if "data" in row:
            yield f"decode {mode} bytes", row["data"], right.decoded[mode].data
        if "text" in row:
            yield f"decode {mode} text", row["text"], right.decoded[mode].text


def _stage_pairs(right: Expected, stages: list[Row]) -> Iterator[tuple[str, Any, Any]]:
    for index, stage in enumerate(right.stages):
        pieces = stages[index]["pieces"] if index < len(stages) else []
        for at, (text, number) in enumerate(zip(stage.texts, stage.ids, strict=True)):
            wanted: dict[str, Any] = {
                "text": text,
                "offsets": list(stage.offsets[2 * at : 2 * at + 2]),
            }
            wanted |= {} if number is None else {"id": number}
            yield stage.stage, dict(pieces[at]) if at < len(pieces) else None, wanted
        beyond = pieces[len(stage.texts) :]
        yield stage.stage, dict(beyond[0]) if beyond else None, None
    more = [row["stage"] for row in stages[len(right.stages) :]]
    yield (more[0] if more else "/"), more, []
