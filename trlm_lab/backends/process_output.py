"""One case's tensors from a runtime: checked against the model, then read in ladder order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.process_files import read_tensor_header
from trlm_lab.backends.process_shapes import ModelShapes, chunk_number, step_number
from trlm_lab.base.names import in_ladder_order, is_checkpoint, ladder_rank
from trlm_lab.base.records import Case, Observation
from trlm_lab.base.safetensors_header import TensorInfo, map_tensor
from trlm_lab.errors import ProcessOutputError, UnknownNameError
from trlm_lab.ops.top_k import top_k

TOP_NAMES = ("logits.topk_ids", "logits.topk_values")
GENERATED = "generated"
ID_NAMES = ("token_ids", "position_ids", "attention_mask")


@dataclass(frozen=True)
class CaseOutput:
    """The tensor file of one case; `check` is the way to one."""

    path: Path
    case: Case
    shapes: ModelShapes
    tensors: dict[str, TensorInfo]
    decode_steps: int = 0

    @classmethod
    def check(
        cls, path: Path, case: Case, shapes: ModelShapes, decode_steps: int = 0
    ) -> CaseOutput:
        """Check `<case_id>.safetensors` whole: structure, then every name, dtype and shape.

        Where decode steps were asked for, `generated` must hold that many ids.

        Raises:
            ProcessOutputError: missing, malformed, or a tensor of wrong name, dtype or shape.
        """

        def refusal(detail: str) -> ProcessOutputError:
            return ProcessOutputError(where=path.name, detail=detail)

        tensors = {tensor.name: tensor for tensor in read_tensor_header(path, refusal)}
        output = cls(path, case, shapes, tensors, decode_steps)
        for tensor in tensors.values():
            wrong = output._wrong(tensor)
            if wrong:
                raise ProcessOutputError(where=f"{path.name}: {tensor.name}", detail=wrong)
        wrong = output._chunks_wrong()
        if wrong:
            raise ProcessOutputError(where=f"{path.name}: logits.chunk0", detail=wrong)
        wrong = output._steps_wrong()
        if wrong:
            raise ProcessOutputError(where=f"{path.name}: {GENERATED}", detail=wrong)
        return output

    def _steps_wrong(self) -> str | None:
        """What is wrong with the answer to the steps asked for; unasked ones are passed over."""
        if self.decode_steps == 0:
            return None
        if GENERATED not in self.tensors:
            return f"missing, though {self.decode_steps} decode steps were asked for"
        shape = self.tensors[GENERATED].shape
        if shape != (self.decode_steps,):
            return f"shape {list(shape)}, expected {[self.decode_steps]}"
        last = max((n for name in self.tensors if (n := step_number(name)) is not None), default=-1)
        return f"there is a step {last} of {self.decode_steps}" if last >= shape[0] else None

    def _wrong(self, tensor: TensorInfo) -> str | None:
        try:
            expected = self.shapes.expected(tensor.name, len(self.case.token_ids))
        except UnknownNameError as error:
            return error.detail
        return expected.mismatch(tensor.dtype, tensor.shape)

    def _chunks(self) -> list[str]:
        numbered = {name: chunk_number(name) for name in self.tensors}
        chunks = [(number, name) for name, number in numbered.items() if number is not None]
        return [name for _, name in sorted(chunks)]

    def _chunks_wrong(self) -> str | None:
        chunks = self._chunks()
        if not chunks:
            return None
        if "logits" in self.tensors:
            return "both logits and logits.chunk{c} are given"
        if [chunk_number(name) for name in chunks] != list(range(len(chunks))):
            return f"the chunks {chunks} are not numbered 0, 1, 2, ..."
        columns = sum(self.tensors[name].shape[1] for name in chunks)
        wrong = columns != self.shapes.V
        return f"the chunks hold {columns} of {self.shapes.V} columns" if wrong else None

    def observations(self) -> Iterator[Observation]:
        """`token_ids`, other ids of the case, the checkpoints by the ladder, top logits last."""
        yield from self._ids()
        logits: NDArray[np.float32] | None = None
        for name in in_ladder_order(self._checkpoints()):
            values = self._read(name)
            if name == "logits":
                logits = values
            yield Observation(name, values)
        yield from self._top(logits)
        if self.decode_steps:
            yield from self._steps()

    def _steps(self) -> Iterator[Observation]:
        """Tensors of the decode steps in their order, then `generated`."""
        numbered = [(n, name) for name in self.tensors if (n := step_number(name)) is not None]
        for _, name in sorted(numbered, key=lambda pair: (pair[0], _order(pair[1]))):
            yield Observation(name, self._read(name))
        yield Observation(GENERATED, self._read(GENERATED))

    def _checkpoints(self) -> list[str]:
        skipped = (*TOP_NAMES, *ID_NAMES, GENERATED)
        exposed = [n for n in self.tensors if n not in skipped and not n.startswith("step")]
        whole = [name for name in exposed if chunk_number(name) is None]
        return [*whole, "logits"] if len(whole) < len(exposed) else whole

    def _read(self, name: str) -> NDArray[Any]:
        """A copy of a tensor that outlives the file, in the machine's byte order."""
        if name == "logits" and name not in self.tensors:
            return np.concatenate([self._read(chunk) for chunk in self._chunks()], axis=1)
        mapped = map_tensor(self.path, self.tensors[name])
        return np.array(mapped, dtype=mapped.dtype.newbyteorder("="))

    def _ids(self) -> Iterator[Observation]:
        """What the runtime says it was given; where it is silent, what the request said."""
        for name in ID_NAMES:
            asked = getattr(self.case, name)
            if name in self.tensors:
                yield Observation(name, self._read(name))
            elif asked is not None:
                yield Observation(name, np.asarray(asked, dtype=np.int64))

    def _top(self, logits: NDArray[np.float32] | None) -> Iterator[Observation]:
        derived = None if logits is None else top_k(logits)
        for i, name in enumerate(TOP_NAMES):
            if name in self.tensors:
                yield Observation(name, self._read(name))
            elif derived is not None:
                yield Observation(name, derived[i])


def _order(step_name: str) -> tuple[int, tuple[int, int, int], str]:
    """Checkpoints of a step by the ladder, whatever else it shows behind them."""
    name = step_name.partition(".")[2]
    rank = ladder_rank(name) if is_checkpoint(name) else (0, 0, 0)
    return (0 if is_checkpoint(name) else 1, rank, name)
