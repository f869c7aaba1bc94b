"""A session over the runtime's ABI; native and WebAssembly hosts share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np

from trlm_lab.backends.abi_host import (
    APPEND,
    CONTEXT,
    LAST_LOGITS,
    NO_VISIBLE_KEY,
    Host,
    Scratch,
    all_keys_masked,
    last_error,
)
from trlm_lab.backends.runtime_source import ORDERS
from trlm_lab.base.case_rules import check_case, check_decoding, check_positions, check_tokens
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import ContextLengthError, SessionBusyError, TrlmError

#: Entries of `logits.topk_*`, or the vocabulary where it is smaller.
TOP_K = 64
VOCAB, MAX_POSITIONS, CACHED = 0, 7, 9


class AbiSession:
    """An opened model. Runs are independent; `advance` continues the cache of the last one.

    One run at a time: starting another ends the one before it.
    """

    def __init__(self, host: Host, model: int, identity: EngineIdentity) -> None:
        self.host = host
        self.model = model
        self._identity = identity
        self._turn = 0
        order = ORDERS.get(identity.profile, 0)
        if self._signed("trlm_model_order", model, order) < 0:
            raise last_error(host)

    @property
    def identity(self) -> EngineIdentity:
        """Who computes."""
        return self._identity

    @property
    def cached(self) -> int:
        """Tokens whose keys and values the cache holds."""
        return self.info(CACHED)

    def info(self, key: int) -> int:
        """A number about the model; keys as in docs/abi.md."""
        return self.host.call("trlm_model_info", self.model, key)

    def verify(self, what: int = 15) -> None:
        """Recompute the artifact's hashes in the runtime. Raises RuntimeRefusedError (HASH)."""
        if self._signed("trlm_model_verify", self.model, what) < 0:
            raise last_error(self.host)

    def run(self, case: Case) -> Iterator[Observation]:
        """`token_ids` (positions and mask where the case gives them), then every checkpoint.

        Raises:
            TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
            AllKeysMaskedError: as `base.case_rules.check_case`.
        """
        self._own(self._turn)
        check_case(case, self.info(VOCAB), self.info(MAX_POSITIONS))
        for name in ("token_ids", "position_ids", "attention_mask"):
            value = getattr(case, name)
            if value is not None:
                yield Observation(name, np.array(value, dtype=np.int64))
        yield from self.advance(case.token_ids, case.position_ids, case.attention_mask, fresh=True)

    def advance(
        self,
        token_ids: Sequence[int],
        positions: Sequence[int] | None = None,
        keep: Sequence[int] | None = None,
        *,
        fresh: bool = False,
        last_logits: bool = False,
    ) -> Iterator[Observation]:
        """Run tokens behind the cache (an empty one with `fresh`) and yield every checkpoint.

        A prefill of n tokens and n calls of one token give the same bits row by row. `keep` is 0
        for padding tokens; with `last_logits` the logits are those of the last token alone. The
        cache counts the tokens only when the iterator is exhausted.

        Raises:
            TokenRangeError, PositionRangeError, ContextLengthError, AllKeysMaskedError.
        """
        self._turn += 1
        turn = self._turn
        flags = (0 if fresh else APPEND) | (LAST_LOGITS if last_logits else 0)
        self._begin(token_ids, positions, keep, flags)
        while self._step(turn):
            for i in range(self.host.call("trlm_checkpoint_count", self.model)):
                self._own(turn)
                yield self._observation(i)
        self._own(turn)
        yield from self._top_k(1 if last_logits else len(token_ids))

    def steps(self, case: Case, decode_steps: int) -> Iterator[Observation]:
        """A prefill, then greedy steps named `step{s}.<name>` from 0, then `generated`.

        The greedy token is the lowest id among the largest logits. Raises as `run`, and where the
        steps outgrow the context.
        """
        self._own(self._turn)
        check_decoding(case, decode_steps, self.info(VOCAB), self.info(MAX_POSITIONS))
        token = -1
        for seen in self.run(case):
            token = int(seen.values[-1, 0]) if seen.name == "logits.topk_ids" else token
            yield seen
        position = (case.position_ids or range(len(case.token_ids)))[-1]
        generated: list[int] = []
        for step in range(decode_steps):
            generated.append(token)
            for seen in self.advance((token,), (position + 1 + step,)):
                token = int(seen.values[-1, 0]) if seen.name == "logits.topk_ids" else token
                yield Observation(f"step{step}.{seen.name}", seen.values)
        yield Observation("generated", np.array(generated, dtype=np.int64))

    def close(self) -> None:
        """Free the model and the engine; a second call does nothing."""
        if self.model:
            self.host.call("trlm_model_free", self.model)
            self.model = 0
            self.host.close()

    def __enter__(self) -> AbiSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _signed(self, name: str, *arguments: int) -> int:
        value = self.host.call(name, *arguments)
        return value - (1 << 32) if value >= 1 << 31 else value

    def _own(self, turn: int) -> None:
        if turn != self._turn or not self.model:
            raise SessionBusyError(where=self._identity.name)

    def _begin(
        self,
        token_ids: Sequence[int],
        positions: Sequence[int] | None,
        keep: Sequence[int] | None,
        flags: int,
    ) -> None:
        self._own(self._turn)
        check_tokens(token_ids, self.info(VOCAB), "case")
        check_positions(positions or (), self.info(MAX_POSITIONS), "case")
        mask = None if keep is None else np.array([bool(k) for k in keep], dtype=np.uint8)
        places = None if positions is None else np.array(positions, dtype=np.uint32)
        wanted = (np.array(token_ids, dtype=np.uint32), places, mask)
        with ExitStack() as memory:
            tokens, at, shown = (
                0 if data is None else memory.enter_context(Scratch(self.host, data)).address
                for data in wanted
            )
            begun = self._signed(
                "trlm_case_begin", self.model, tokens, len(token_ids), at, shown, flags
            )
        if begun < 0:
            raise self._refusal(token_ids)

    def _refusal(self, token_ids: Sequence[int]) -> TrlmError:
        """The runtime's refusal of a case, as the class that every engine raises for it."""
        number = self.host.call("trlm_last_error_code")
        if number == CONTEXT:
            tokens, limit = self.cached + len(token_ids), self.info(MAX_POSITIONS)
            return ContextLengthError(where="case", tokens=tokens, limit=limit)
        if number == NO_VISIBLE_KEY:
            return all_keys_masked(str(last_error(self.host).where))
        return last_error(self.host)

    def _step(self, turn: int) -> bool:
        self._own(turn)
        made = self._signed("trlm_case_step", self.model)
        if made < 0:
            raise last_error(self.host)
        return made == 1

    def _observation(self, i: int) -> Observation:
        """Checkpoint `i` of the last step, copied out of the runtime's memory."""
        call, at = self.host.call, (self.model, i)
        name = self.host.bytes_at(
            call("trlm_checkpoint_name_ptr", *at), call("trlm_checkpoint_name_len", *at)
        ).tobytes()
        axes = range(call("trlm_checkpoint_rank", *at))
        shape = tuple(call("trlm_checkpoint_dim", *at, axis) for axis in axes)
        length = 4 * call("trlm_checkpoint_len", *at)
        raw = self.host.bytes_at(call("trlm_checkpoint_data", *at), length).copy()
        return Observation(name.decode("ascii"), raw.view(np.float32).reshape(shape))

    def _top_k(self, rows: int) -> Iterator[Observation]:
        k = min(TOP_K, self.info(VOCAB))
        ids, values = np.zeros((rows, k), np.int64), np.zeros((rows, k), np.float32)
        with Scratch(self.host, ids) as i, Scratch(self.host, values) as v:
            if self._signed("trlm_topk", self.model, k, i.address, v.address) < 0:
                raise last_error(self.host)
            found = (i.read(), v.read())
        yield Observation("logits.topk_ids", found[0])
        yield Observation("logits.topk_values", found[1])
