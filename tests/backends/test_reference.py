"""The reference engine: literal forward pass, bits, cache, files, refusals, and the seam."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from trlm_lab.backends.model_config import config_of_model_dir
from trlm_lab.backends.model_files import OpenModel, expected_shapes, open_subject
from trlm_lab.backends.operators import Operators
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import Plant, ReferenceRunner, ReferenceSession, code_sha256
from trlm_lab.backends.weights import ArrayWeights, Weights
from trlm_lab.base import canon
from trlm_lab.base.bits import same_bits, ulp_distance
from trlm_lab.base.interfaces import Runner, Session, Subject
from trlm_lab.base.names import is_checkpoint, llama_ladder, parse_checkpoint
from trlm_lab.base.records import Case, EffectiveConfig, Observation
from trlm_lab.errors import (
    AllKeysMaskedError,
    ContextLengthError,
    JsonError,
    ModelFilesError,
    SafetensorsError,
    SlmError,
    TokenRangeError,
    UnknownNameError,
    UnsupportedModelError,
)
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

F32 = np.float32
EXACT = ("scalar-f32-v1", "lanes16-f32-v1")
CASE = Case("five", (3, 66, 0, 41, 41))


def _load_tiny() -> ModuleType:
    """The writer of small files beside this test, which shares nothing with the packer."""
    spec = importlib.util.spec_from_file_location(
        "tiny_slm_of_reference", Path(__file__).with_name("tiny_slm.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tiny = _load_tiny()
CONFIG: EffectiveConfig = tiny.tiny_config()
WEIGHTS = tiny.tiny_weights(CONFIG)


def arrays(q8: bool = False) -> dict[str, RowBlocks]:
    """The tensors in memory, with the tied head under its own name."""
    tensors = {w.name: w.values for w in WEIGHTS if w.values is not None}
    if q8:
        tensors = {n: tiny.dequantize(v) if v.ndim == 2 else v for n, v in tensors.items()}
    return {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]}


MODEL = OpenModel(CONFIG, arrays())


def session(profile: str = "scalar-f32-v1", plant: Plant | None = None) -> ReferenceSession:
    return ReferenceRunner(profile, plant=plant or Plant()).start(MODEL)


def observed(stream: Iterator[Observation]) -> dict[str, Array]:
    rows = list(stream)
    assert len({o.name for o in rows}) == len(rows)
    return {o.name: o.values for o in rows}


def assert_same(a: dict[str, Array], b: dict[str, Array]) -> None:
    assert list(a) == list(b)
    assert [n for n in a if not same_bits(a[n], b[n])] == []


# --- what comes out ---------------------------------------------------------------------------


def test_it_is_a_runner_with_sessions() -> None:
    runner = ReferenceRunner()
    assert isinstance(runner, Runner)
    assert isinstance(session(), Session)
    assert runner.availability().available
    with session() as opened:
        identity = opened.identity
    assert (identity.name, identity.profile) == ("reference", "scalar-f32-v1")
    assert identity.build_sha256 == code_sha256()
    canon.encode(identity.to_map())


@pytest.mark.parametrize("profile", REFERENCE_PROFILES)
def test_every_checkpoint_in_ladder_order_with_its_shape(profile: str) -> None:
    seen = observed(session(profile).run(CASE))
    ladder = llama_ladder(CONFIG.num_hidden_layers)
    assert list(seen) == ["token_ids", *ladder, "logits.topk_ids", "logits.topk_values"]
    letters = {"T": 5, "S": 5, "D": 36, "H": 6, "K": 2, "E": 10, "F": 90, "V": 67, "HE": 60,
               "KE": 20}  # fmt: skip
    for name in ladder:
        assert seen[name].dtype == F32
        assert seen[name].shape == tuple(letters[a] for a in parse_checkpoint(name).axes), name
        assert np.isfinite(seen[name]).all()
    assert seen["token_ids"].tolist() == list(CASE.token_ids)
    assert seen["logits.topk_ids"].shape == (5, 64)


def test_masked_scores_and_probabilities_have_their_sentinels() -> None:
    seen = observed(session().run(CASE))
    hidden = np.broadcast_to(np.triu(np.ones((5, 5), bool), 1), (6, 5, 5))
    masked, probs = seen["layers.1.attn_masked"], seen["layers.1.attn_probs"]
    assert (masked[hidden] == np.finfo(F32).min).all()
    assert same_bits(masked[~hidden], seen["layers.1.attn_scores"][~hidden])
    assert probs[hidden].tobytes() == bytes(4 * int(hidden.sum()))
    assert (seen["layers.1.attn_scores"][hidden] != np.finfo(F32).min).all()


def test_top_k_is_of_the_logits() -> None:
    seen = observed(session().run(CASE))
    ids, values = seen["logits.topk_ids"], seen["logits.topk_values"]
    assert same_bits(np.take_along_axis(seen["logits"], ids, axis=1), values)
    assert ids[:, 0].tolist() == seen["logits"].argmax(axis=1).tolist()


def test_observed_arrays_belong_to_the_receiver() -> None:
    sound, spoilt = observed(session().run(CASE)), {}
    for seen in session().run(CASE):
        spoilt[seen.name] = seen.values.copy()
        seen.values[...] = 0
    assert_same(sound, spoilt)


# --- the bits ---------------------------------------------------------------------------------


def add_up(terms: list[F32], lanes: int) -> F32:
    partial = [F32(0)] * lanes
    for i, term in enumerate(terms):
        partial[i % lanes] = F32(partial[i % lanes] + term)
    while len(partial) > 1:
        half = len(partial) // 2
        partial = [F32(partial[i] + partial[i + half]) for i in range(half)]
    return partial[0]


def one(function: Callable[[Array], Array], x: F32) -> F32:
    return F32(function(np.array([x], F32))[0])


def literal_forward(lanes: int) -> dict[str, Array]:
    """The whole model by loops over single float32 numbers, written from the formats page."""
    w: dict[str, Any] = arrays()
    c, ids = CONFIG, CASE.token_ids
    T, H, K, E = len(ids), c.num_attention_heads, c.num_key_value_heads, c.head_dim
    seen: dict[str, Array] = {}

    def keep(name: str, values: Any) -> Array:
        seen[name] = np.array(values, F32)
        return seen[name]

    def linear(x: Array, name: str) -> list[list[F32]]:
        return [
            [add_up([F32(a * b) for a, b in zip(r, o, strict=True)], lanes) for o in w[name]]
            for r in x
        ]

    def norm(x: Array, name: str) -> list[list[F32]]:
        rows = []
        for r in x:
            total = add_up([F32(v * v) for v in r], lanes)
            mean = F32(total / F32(len(r)))
            scale = F32(F32(1) / np.sqrt(F32(mean + F32(c.rms_norm_eps))))
            rows.append([F32(g * F32(v * scale)) for v, g in zip(r, w[name], strict=True)])
        return rows

    def rotated(x: Array, heads: int) -> Array:
        out = x.reshape(T, heads, E).copy()
        for t in range(T):
            for i in range(E // 2):
                angle = F32(F32(t) * F32(c.rope_inv_freq[i]))
                cos, sin = one(elementary.cos, angle), one(elementary.sin, angle)
                for h in range(heads):
                    a, b = x.reshape(T, heads, E)[t, h, i], x.reshape(T, heads, E)[t, h, i + E // 2]
                    out[t, h, i] = F32(F32(a * cos) - F32(b * sin))
                    out[t, h, i + E // 2] = F32(F32(b * cos) + F32(a * sin))
        return out

    def attend(p: str, q: Array, k: Array, v: Array) -> Array:
        scores, probs = np.zeros((H, T, T), F32), np.zeros((H, T, T), F32)
        mixed = np.zeros((T, H, E), F32)
        for h in range(H):
            g = h // (H // K)
            for t in range(T):
                for s in range(T):
                    dot = add_up([F32(q[t, h, e] * k[s, g, e]) for e in range(E)], lanes)
                    scores[h, t, s] = F32(dot * F32(c.attention_scale))
                top = max(scores[h, t, : t + 1])
                e = [one(elementary.exp, F32(s - top)) for s in scores[h, t, : t + 1]]
                total = add_up(e, lanes)
                probs[h, t, : t + 1] = [F32(x / total) for x in e]
                for s in range(t + 1):
                    for i in range(E):
                        product = F32(probs[h, t, s] * v[s, g, i])
                        mixed[t, h, i] = F32(mixed[t, h, i] + product)
        keep(p + "attn_scores", scores)
        later = np.triu(np.ones((T, T), bool), 1)
        keep(p + "attn_masked", np.where(later, np.finfo(F32).min, scores))
        keep(p + "attn_probs", probs)
        return keep(p + "attn_values", mixed.reshape(T, -1))

    x = keep("embedding", [w["model.embed_tokens.weight"][i] for i in ids])
    for n in range(c.num_hidden_layers):
        p, name = f"layers.{n}.", f"model.layers.{n}."
        keep(p + "input", x)
        y = keep(p + "attn_norm", norm(x, name + "input_layernorm.weight"))
        q, k, v = (
            keep(p + f"{i}_proj", linear(y, name + f"self_attn.{i}_proj.weight")) for i in "qkv"
        )
        q, k = keep(p + "q_rope", rotated(q, H)), keep(p + "k_rope", rotated(k, K))
        y = attend(p, q, k, v.reshape(T, K, E))
        y = keep(p + "o_proj", linear(y, name + "self_attn.o_proj.weight"))
        x = keep(p + "attn_residual", x + y)
        y = keep(p + "mlp_norm", norm(x, name + "post_attention_layernorm.weight"))
        gate, up = (
            keep(p + f"{i}_proj", linear(y, name + f"mlp.{i}_proj.weight")) for i in ("gate", "up")
        )
        act = [
            [
                F32(F32(a / F32(F32(1) + one(elementary.exp, -a))) * b)
                for a, b in zip(r, s, strict=True)
            ]
            for r, s in zip(gate, up, strict=True)
        ]
        y = keep(p + "down_proj", linear(keep(p + "mlp_act", act), name + "mlp.down_proj.weight"))
        x = keep(p + "output", x + y)
    keep("logits", linear(keep("final_norm", norm(x, "model.norm.weight")), "lm_head.weight"))
    return seen


@pytest.mark.parametrize(("profile", "lanes"), [("scalar-f32-v1", 1), ("lanes16-f32-v1", 16)])
def test_every_checkpoint_has_the_bits_of_the_literal_loops(profile: str, lanes: int) -> None:
    expected = literal_forward(lanes)
    got = observed(session(profile).run(CASE))
    assert list(expected) == [n for n in got if is_checkpoint(n)]
    assert [n for n in expected if not same_bits(got[n], expected[n])] == []


def test_profiles_differ_in_bits_and_hardly_in_value() -> None:
    scalar, lanes, wide = (observed(session(p).run(CASE))["logits"] for p in REFERENCE_PROFILES)
    assert not same_bits(scalar, lanes)
    assert not same_bits(scalar, wide)
    order = [np.argsort(logits, axis=1)[:, -3:].tolist() for logits in (scalar, lanes, wide)]
    assert order[0] == order[1] == order[2]


@pytest.mark.parametrize("profile", EXACT)
def test_threads_change_no_bit(profile: str) -> None:
    threaded = ReferenceRunner(profile, threads=2).start(MODEL)
    assert_same(observed(session(profile).run(CASE)), observed(threaded.run(CASE)))


def test_an_exp_that_is_off_by_one_ulp_changes_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = observed(session().run(CASE))
    exact = elementary.exp
    monkeypatch.setattr(elementary, "exp", lambda x: np.nextafter(exact(x), F32(np.inf)))
    off = observed(session().run(CASE))
    changed = [n for n in sound if not same_bits(sound[n], off[n])]
    assert changed[0] == "layers.0.attn_probs"
    assert "logits" in changed


# --- cache ------------------------------------------------------------------------------------


def chunked(opened: ReferenceSession, sizes: list[int]) -> list[dict[str, Array]]:
    cache, start, parts = opened.new_cache(), 0, []
    for size in sizes:
        ids = np.array(CASE.token_ids[start : start + size], np.int64)
        parts.append(observed(opened.advance(cache, ids)))
        start += size
    assert cache.length == start
    return parts


@pytest.mark.parametrize("profile", EXACT)
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [3, 2], [2, 1, 2], [4, 1]])
def test_chunks_and_decode_steps_have_the_bits_of_one_prefill(
    profile: str, sizes: list[int]
) -> None:
    whole = observed(session(profile).run(CASE))
    parts = chunked(session(profile), sizes)
    start = 0
    for size, part in zip(sizes, parts, strict=True):
        end = start + size
        for name, values in part.items():
            if name.split(".")[-1] in ("attn_scores", "attn_masked", "attn_probs"):
                expected = whole[name][:, start:end, :end]
            else:
                expected = whole[name][start:end]
            assert same_bits(values, np.ascontiguousarray(expected)), name
        start = end


def test_greedy_steps_follow_the_prefill() -> None:
    seen = observed(session().steps(CASE, 3))
    generated = seen["generated"].tolist()
    assert len(generated) == 3
    assert generated[0] == seen["logits"][-1].argmax()
    assert seen["step0.logits"].shape == (1, 67)
    assert seen["step2.layers.1.attn_scores"].shape == (6, 1, 8)
    whole = observed(session().run(Case("whole", (*CASE.token_ids, *generated))))
    assert same_bits(seen["step2.logits"], whole["logits"][-1:])
    assert whole["logits"][5:7].argmax(axis=1).tolist() == generated[1:]


def test_conversations_do_not_share_a_cache() -> None:
    opened = session()
    first, again = observed(opened.run(CASE)), observed(opened.run(CASE))
    assert_same(first, again)


# --- positions, padding, limits ---------------------------------------------------------------


def test_positions_given_by_the_case_are_used_and_traced() -> None:
    moved = replace(CASE, position_ids=(0, 1, 2, 3, 9))
    seen, plain = observed(session().run(moved)), observed(session().run(CASE))
    assert list(seen)[:3] == ["token_ids", "position_ids", "embedding"]
    assert seen["position_ids"].dtype == np.int64
    assert same_bits(seen["layers.0.k_rope"][:4], plain["layers.0.k_rope"][:4])
    assert not same_bits(seen["layers.0.k_rope"][4], plain["layers.0.k_rope"][4])
    explicit = replace(CASE, position_ids=(0, 1, 2, 3, 4))
    assert same_bits(observed(session().run(explicit))["logits"], plain["logits"])


def test_padding_keys_are_left_out() -> None:
    padded = replace(CASE, attention_mask=(1, 1, 0, 1, 1))
    seen = observed(session().run(padded))
    assert (seen["layers.0.attn_probs"][:, 3:, 2] == 0).all()
    shorter = Case("short", (3, 66, 41, 41), position_ids=(0, 1, 3, 4))
    short = observed(session().run(shorter))
    assert same_bits(seen["logits"][[0, 1, 3, 4]], short["logits"])


def test_a_query_without_a_key_is_an_error_with_its_row() -> None:
    with pytest.raises(AllKeysMaskedError) as caught:
        observed(session().run(replace(CASE, attention_mask=(0, 1, 1, 1, 1))))
    assert caught.value.facts["row"] == 0


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(TokenRangeError, match="token 67 at index 1"):
        observed(session().run(Case("wide", (1, 67))))


def test_the_declared_context_is_a_limit() -> None:
    opened = session()
    with pytest.raises(ContextLengthError, match="65 tokens"):
        observed(opened.run(Case("long", (1,) * 65)))
    cache = opened.new_cache()
    observed(opened.advance(cache, np.ones(60, np.int64)))
    with pytest.raises(ContextLengthError, match="65 tokens"):
        opened.advance(cache, np.ones(5, np.int64))


# --- files ------------------------------------------------------------------------------------


@pytest.fixture
def slm(tmp_path: Path) -> Callable[..., Subject]:
    def write(quant: str = "f32", **changes: Any) -> Subject:
        path = tmp_path / f"{quant}.slm"
        path.write_bytes(tiny.write_slm(replace(CONFIG, **changes), WEIGHTS, quant))
        return Subject(artifact=path)

    return write


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize("profile", EXACT)
def test_an_artifact_runs_as_its_arrays_do(
    quant: str, profile: str, slm: Callable[..., Subject]
) -> None:
    model = OpenModel(CONFIG, arrays(q8=quant == "q8_r128"))
    expected = observed(ReferenceRunner(profile).start(model).run(CASE))
    with ReferenceRunner(profile).open(slm(quant)) as opened:
        assert_same(observed(opened.run(CASE)), expected)


def test_interleaved_artifacts_rotate_neighbours(slm: Callable[..., Subject]) -> None:
    half = observed(ReferenceRunner().open(slm()).run(CASE))
    woven = observed(ReferenceRunner().open(slm(rope_order="interleaved")).run(CASE))
    assert same_bits(half["layers.0.q_proj"], woven["layers.0.q_proj"])
    assert not same_bits(half["layers.0.q_rope"], woven["layers.0.q_rope"])


def test_a_changed_byte_is_refused_even_after_a_good_opening(
    slm: Callable[..., Subject],
) -> None:
    subject = slm()
    assert subject.artifact is not None
    ReferenceRunner().open(subject)
    data = bytearray(subject.artifact.read_bytes())
    data[-1] ^= 1
    broken = subject.artifact.with_name("broken.slm")
    broken.write_bytes(data)
    with pytest.raises(SlmError):
        ReferenceRunner().open(Subject(artifact=broken))


def model_dir(root: Path, tensors: dict[str, Array], **changes: Any) -> Path:
    from safetensors.numpy import save_file

    save_file(tensors, root / "model.safetensors")
    row = {
        "model_type": "llama", "vocab_size": 67, "hidden_size": 36, "intermediate_size": 90,
        "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
        "head_dim": 10, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2, **changes,
    }  # fmt: skip
    kept = {k: v for k, v in row.items() if v != "left out"}
    (root / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return root


def stored() -> dict[str, Array]:
    return {w.name: w.values for w in WEIGHTS if w.values is not None}


def test_a_model_directory_runs_as_its_arrays_do(tmp_path: Path) -> None:
    subject = Subject(model_dir=model_dir(tmp_path, stored()))
    assert config_of_model_dir(tmp_path).rope_theta == CONFIG.rope_theta
    described = ReferenceRunner(config=CONFIG).open(subject)
    assert_same(observed(described.run(CASE)), observed(session().run(CASE)))
    plain, exact = (
        observed(ReferenceRunner().open(subject).run(CASE)),
        observed(session().run(CASE)),
    )
    # Frequencies computed from the base may differ from the source's in the last bit, no more.
    assert same_bits(plain["layers.0.k_proj"], exact["layers.0.k_proj"])
    got, own = config_of_model_dir(tmp_path).inv_freq, CONFIG.inv_freq
    assert ulp_distance(got, own).max() <= 1


def test_the_artifact_is_preferred_to_the_directory(
    slm: Callable[..., Subject], tmp_path: Path
) -> None:
    both = replace(slm(), model_dir=tmp_path / "missing")
    assert ReferenceRunner().open(both).config == CONFIG


def test_old_and_sharded_directories(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    model_dir(tmp_path, stored(), rope_parameters="left out", rope_theta=10000, head_dim=None,
              hidden_size=60, num_key_value_heads="left out", eos_token_id=[2, 3])  # fmt: skip
    config = config_of_model_dir(tmp_path)
    assert (config.head_dim, config.num_key_value_heads) == (10, 6)
    assert config.eos_token_id == (2, 3)
    parts = list(stored().items())
    (tmp_path / "model.safetensors").unlink()
    names = {"a.safetensors": dict(parts[:4]), "b.safetensors": dict(parts[4:])}
    for name, tensors in names.items():
        save_file(tensors, tmp_path / name)
    table = {tensor: name for name, tensors in names.items() for tensor in tensors}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": table}), encoding="utf-8")
    subject = Subject(model_dir=tmp_path)
    sharded = ReferenceRunner(config=CONFIG).open(subject)
    assert_same(observed(sharded.run(CASE)), observed(session().run(CASE)))
    save_file(names["a.safetensors"] | names["b.safetensors"], tmp_path / "a.safetensors")
    with pytest.raises(ModelFilesError, match="two shards"):
        ReferenceRunner(config=CONFIG).open(subject)
    index.write_text(json.dumps({"weight_map": {"x": "../a.safetensors"}}), encoding="utf-8")
    with pytest.raises(ModelFilesError, match="files of this directory"):
        ReferenceRunner(config=CONFIG).open(subject)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_directories_are_widened(tmp_path: Path, dtype: str) -> None:
    import ml_dtypes

    narrow = {n: v.astype(getattr(ml_dtypes, dtype, np.float16)) for n, v in stored().items()}
    from safetensors.numpy import save_file

    model_dir(tmp_path, stored())
    save_file(narrow, tmp_path / "model.safetensors")
    widened = {n: v.astype(F32) for n, v in narrow.items()}
    widened["lm_head.weight"] = widened["model.embed_tokens.weight"]
    expected = ReferenceRunner().start(OpenModel(CONFIG, widened)).run(CASE)
    opened = ReferenceRunner(config=CONFIG).open(Subject(model_dir=tmp_path))
    assert_same(observed(opened.run(CASE)), observed(expected))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model_type": "qwen2"}, UnsupportedModelError),
        ({"hidden_act": "gelu"}, UnsupportedModelError),
        ({"attention_bias": True}, UnsupportedModelError),
        ({"rope_scaling": {"rope_type": "yarn"}}, UnsupportedModelError),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, UnsupportedModelError),
        ({"rope_parameters": [1]}, ModelFilesError),
        ({"rope_parameters": "left out"}, ModelFilesError),
        ({"vocab_size": "left out"}, ModelFilesError),
        ({"vocab_size": True}, ModelFilesError),
        ({"vocab_size": 68}, ModelFilesError),
        ({"rms_norm_eps": "small"}, ModelFilesError),
        ({"rms_norm_eps": -1.0}, ModelFilesError),
        ({"num_attention_heads": 0}, ModelFilesError),
        ({"num_key_value_heads": 4}, ModelFilesError),
        ({"num_key_value_heads": "two"}, ModelFilesError),
        ({"head_dim": 9}, ModelFilesError),
        ({"head_dim": "ten"}, ModelFilesError),
        ({"eos_token_id": "two"}, ModelFilesError),
        ({"tie_word_embeddings": False}, ModelFilesError),
    ],
)
def test_a_directory_beyond_the_plain_family_is_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception]
) -> None:
    root = model_dir(tmp_path, stored(), **changes)
    with pytest.raises(error):
        open_subject(Subject(model_dir=root))


def test_unsound_directories_are_refused(tmp_path: Path) -> None:
    for subject in (Subject(), Subject(model_dir=tmp_path), Subject(artifact=tmp_path / "no.slm")):
        with pytest.raises(ModelFilesError):
            ReferenceRunner(config=CONFIG).open(subject)
    root = model_dir(tmp_path, stored())
    (root / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(JsonError):
        ReferenceRunner().open(Subject(model_dir=root))
    (root / "model.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(SafetensorsError):
        ReferenceRunner(config=CONFIG).open(Subject(model_dir=root))


def test_integer_weights_are_refused(tmp_path: Path) -> None:
    tensors = stored() | {"model.norm.weight": np.ones(36, np.int32)}
    root = model_dir(tmp_path, tensors)
    with pytest.raises(UnsupportedModelError, match="I32"):
        ReferenceRunner(config=CONFIG).open(Subject(model_dir=root))


@pytest.mark.parametrize("name", list(expected_shapes(CONFIG)))
def test_each_missing_or_misshapen_tensor_is_named(name: str) -> None:
    tensors: dict[str, Any] = arrays()
    with pytest.raises(ModelFilesError, match=name):
        OpenModel(CONFIG, {**tensors, name: tensors[name][1:]})
    del tensors[name]
    with pytest.raises(ModelFilesError, match=name):
        OpenModel(CONFIG, tensors)


@pytest.mark.parametrize(
    "changes", [{"hidden_act": "gelu"}, {"attention_bias": True}, {"mlp_bias": True}]
)
def test_an_artifact_beyond_the_plain_family_is_refused(
    changes: dict[str, Any], slm: Callable[..., Subject]
) -> None:
    with pytest.raises(UnsupportedModelError):
        ReferenceRunner().open(slm(**changes))


def test_a_configuration_with_missing_fields_is_refused(tmp_path: Path) -> None:
    row = CONFIG.to_map()
    path = tmp_path / "model.slm"
    for change in ({"attention_scale": None}, {"rope_inv_freq": ["a"] * 5},
                   {"rope_inv_freq": None}, {"attention_scale": "one"}):  # fmt: skip
        changed = {k: v for k, v in (row | change).items() if v is not None}
        data = tiny.write_slm(CONFIG, WEIGHTS, config_bytes=canon.encode(changed))
        path.write_bytes(data)
        with pytest.raises(ModelFilesError, match="configuration"):
            ReferenceRunner().open(Subject(artifact=path))


def test_an_unknown_profile_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError):
        ReferenceRunner("f16")


def test_weights_answer_by_name_and_rank() -> None:
    weights = ArrayWeights(arrays())
    with pytest.raises(ModelFilesError, match="missing"):
        weights.matrix("model.other.weight")
    with pytest.raises(ModelFilesError, match="not rank 1"):
        weights.vector("lm_head.weight")


# --- the seam ---------------------------------------------------------------------------------


def changed_by(plant: Plant, profile: str = "scalar-f32-v1") -> list[str]:
    sound = observed(session(profile).run(CASE))
    planted = observed(session(profile, plant).run(CASE))
    assert list(sound) == list(planted)
    return [n for n in sound if not same_bits(sound[n], planted[n])]


def with_operator(layer: int | None, **fields: Any) -> Plant:
    def choose(at: int | None, sound: Operators) -> Operators:
        return replace(sound, **fields) if at == layer else sound

    return Plant(operators=choose)


def test_an_operator_of_one_layer_can_be_replaced() -> None:
    changed = changed_by(with_operator(1, gate=lambda gate, up: gate * up))
    assert changed[0] == "layers.1.mlp_act"
    assert "layers.1.up_proj" not in changed
    assert changed_by(with_operator(None, residual=None)) == []


def test_the_operators_outside_the_layers_are_layer_none() -> None:
    skipped = with_operator(None, rms_norm=lambda name, x, weight, eps: x)
    assert changed_by(skipped)[0] == "final_norm"


@pytest.mark.parametrize("name", ["layers.0.attn_norm", "layers.1.attn_values", "logits"])
@pytest.mark.parametrize("profile", REFERENCE_PROFILES)
def test_a_perturbed_checkpoint_flows_on(name: str, profile: str) -> None:
    def perturb(at: str, values: Array) -> Array:
        return values + values.dtype.type(1) if at == name else values

    changed = changed_by(Plant(perturb=perturb), profile)
    assert changed[0] == name
    assert changed[-1] == "logits.topk_values"


def test_a_planted_nan_is_yielded_in_one_spelling_and_reaches_the_logits() -> None:
    def perturb(at: str, values: Array) -> Array:
        if at != "layers.0.q_proj":
            return values
        values = values.copy()
        values[2, 7] = np.uint32(0xFFC00001).view(F32)
        return values

    planted = observed(session(plant=Plant(perturb=perturb)).run(CASE))
    assert np.argwhere(np.isnan(planted["layers.0.q_proj"])).tolist() == [[2, 7]]
    assert planted["layers.0.q_proj"].view(np.uint32)[2, 7] == 0x7FC00000
    assert np.isnan(planted["logits"][2:]).all()
    assert np.isfinite(planted["logits"][:2]).all()
    assert planted["logits"].view(np.uint32)[2, 0] == 0x7FC00000


def test_weights_can_be_wrapped() -> None:
    class Shifted:
        def __init__(self, sound: Weights) -> None:
            self.sound = sound

        def matrix(self, name: str) -> RowBlocks:
            rows = self.sound.matrix(name)
            return np.roll(rows[:], 1, axis=0) if name == "lm_head.weight" else rows

        def vector(self, name: str) -> Array:
            return self.sound.vector(name)

    assert changed_by(Plant(weights=Shifted))[0] == "logits"


# --- the real model ---------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_real_model_runs_in_bounded_memory(
    quant: str, smollm2_artifacts: dict[str, Any]
) -> None:
    """Thirty-two tokens through all thirty layers hold well under the size of the weights."""
    import tracemalloc

    subject = Subject(artifact=smollm2_artifacts[quant].artifact.path)
    tracemalloc.start()
    try:
        with ReferenceRunner().open(subject) as opened:
            for _ in opened.run(Case("real", tuple(range(100, 132)))):
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300 << 20
