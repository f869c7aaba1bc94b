"""Architecture, sizes, tying and rotary base: what the files say against the stored tensors."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from trlm_lab.base.config_bounds import CONFIG_BOUNDS, shown
from trlm_lab.base.document_names import is_licence, is_notice
from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.safetensors_header import StoredTensor, map_tensor
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.declarations import Documents
from trlm_lab.describe.families import FAMILIES
from trlm_lab.describe.receipt import NOTE, Declaration, Evidence

_CONFIG = "config.json"
#: GGUF's name of a family where it is not the source framework's.
_GGUF_KINDS = {"gemma3_text": "gemma3"}
_CHUNK = 1 << 22


def _declared(file: str, pointer: str, row: Any, key: str) -> list[Declaration]:
    return [Declaration(file, pointer, row[key])] if key in row else []


def _embedding(compared: Compared) -> StoredTensor | None:
    """The stored token embedding, by the names that the family has for it."""
    kind = compared.documents.config.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    names = family.embedding if family else (EMBEDDING,)
    return next((compared.tensors[name] for name in names if name in compared.tensors), None)


def architecture(compared: Compared) -> Evidence:
    """Family and class must both be given and belong together."""
    config, gguf = compared.documents.config, compared.documents.gguf
    kind, classes = config.get("model_type"), config.get("architectures")
    publisher = _declared(_CONFIG, "/model_type", config, "model_type")
    publisher += _declared(_CONFIG, "/architectures", config, "architectures")
    key = "general.architecture"
    publisher += _declared("provenance.cbor", f"/gguf/fields/{key}", gguf, key)
    field, add = "architecture", compared.findings.add
    if not isinstance(kind, str) or not isinstance(classes, list) or not classes:
        detail = "model_type and architectures must both be given"
        add("ARCHITECTURE_MISSING", f"{_CONFIG}#/architectures", detail, field)
    elif len(classes) > 1 or (kind in FAMILIES and classes != [FAMILIES[kind].architecture]):
        detail = f"model_type {kind!r} beside the architectures {shown(classes)}"
        add("ARCHITECTURE_CONFLICT", f"{_CONFIG}#/architectures", detail, field)
    elif gguf.get(key, kind) not in (kind, _GGUF_KINDS.get(kind)):
        detail = f"model_type {kind!r} of a GGUF file whose architecture is {gguf[key]!r}"
        add("ARCHITECTURE_CONFLICT", f"{_CONFIG}#/model_type", detail, field)
    else:
        return Evidence(field, tuple(publisher), chosen=classes[0])
    return Evidence(field, tuple(publisher))


def vocabulary_size(compared: Compared) -> Evidence:
    """Embedding and head have `vocab_size` rows, and no token lies beyond them."""
    documents, vocab, field = compared.documents, compared.vocab, "vocab_size"
    size: Any = documents.config.get(field)
    publisher = _declared(_CONFIG, "/vocab_size", documents.config, field)
    if documents.tokenizer:
        publisher.append(Declaration("tokenizer.json", "/model/vocab", vocab.size))
    publisher += [Declaration(m.file, "/pieces", m.pieces) for m in documents.pieces]
    rows = []
    for stored in (_embedding(compared), compared.tensors.get(HEAD)):
        if stored is not None and len(stored.info.shape) == 2:
            rows.append(stored.info.shape[0])
            name, count = stored.info.name, stored.info.shape[0]
            publisher.append(Declaration(stored.path.name, name, count))
    key = _gguf_key(documents, "vocab_size")
    publisher += _declared("provenance.cbor", f"/gguf/fields/{key}", documents.gguf, key)
    problem = CONFIG_BOUNDS[field].problem(size)
    place = f"{_CONFIG}#/vocab_size"
    if problem:
        compared.findings.add("VOCAB_CONFLICT", place, f"vocab_size: {problem}", field)
        return Evidence(field, tuple(publisher))
    stated = {*rows, documents.gguf.get(key, size)}
    tokens = max([vocab.size, *(model.pieces for model in documents.pieces)])
    sound = tokens <= size and stated <= {size}
    if not sound:
        # A padded embedding may be larger than the tokenizer; never the other way round.
        detail = "; ".join(f"{d.place} says {d.value}" for d in publisher)
        compared.findings.add("VOCAB_CONFLICT", place, detail, field)
    return Evidence(field, tuple(publisher), chosen=size if sound else None)


def tied_embeddings(compared: Compared) -> Evidence:
    """A tied head is absent or a copy byte by byte; an untied one is stored."""
    config, field = compared.documents.config, "tie_word_embeddings"
    flag, kind = config.get(field), config.get("model_type")
    publisher = _declared(_CONFIG, f"/{field}", config, field)
    embedding, head = _embedding(compared), compared.tensors.get(HEAD)
    if embedding is None:
        return Evidence(field, tuple(publisher), undefined=_open(flag))
    copy = "absent" if head is None else _copy(embedding, head)
    publisher.append(Declaration((head or embedding).path.name, HEAD, copy))
    place, add = f"{_CONFIG}#/{field}", compared.findings.add
    known = len(compared.findings.rows)
    if flag is True and copy.startswith("different"):
        detail = f"the head is tied to the embedding, and stored as a {copy}"
        add("TIED_CONFLICT", place, detail, field)
    elif head is None and (flag is False or (flag is None and not _ties_unless_said(kind))):
        open_ = f"left open, which {kind!r} takes as false: " if flag is None else ""
        add("TIED_CONFLICT", place, f"{open_}the head is not tied, and not stored either", field)
    elif flag is True and head is not None:
        add("TIED_COPY", place, "the tied head is stored as an identical copy", field, NOTE)
    chosen = None if compared.findings.about(field) else flag
    # Only what was found has a name to be kept; two hashes of a large head take seconds.
    found = head is not None and len(compared.findings.rows) > known
    both = tuple(_hashed(t) for t in (embedding, head) if found and t is not None)
    return Evidence(field, tuple(publisher), undefined=_open(flag), chosen=chosen, compared=both)


def _ties_unless_said(kind: Any) -> bool:
    """Whether the class ties the head where no key says so; of an unknown one nothing is known."""
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    return family is None or bool(family.unless_said["tie_word_embeddings"])


def _gguf_key(documents: Documents, name: str) -> str:
    """The key of a GGUF file that belongs to its architecture."""
    return f"{documents.gguf.get('general.architecture', 'llama')}.{name}"


def _hashed(tensor: StoredTensor) -> Declaration:
    data = map_tensor(tensor.path, tensor.info).reshape(-1).view(np.uint8)
    digest = hashlib.sha256(data.data)
    return Declaration(tensor.path.name, tensor.info.name, f"SHA-256 {digest.hexdigest()}")


def _open(flag: Any) -> str:
    return "config.json leaves it to the source framework" if flag is None else ""


def _copy(embedding: StoredTensor, head: StoredTensor) -> str:
    if embedding.info.dtype != head.info.dtype or embedding.info.shape != head.info.shape:
        return f"different copy, {head.info.dtype} {list(head.info.shape[:8])}"
    one, two = (map_tensor(s.path, s.info).reshape(-1).view(np.uint8) for s in (embedding, head))
    for low in range(0, one.size, _CHUNK):
        differ = np.flatnonzero(one[low : low + _CHUNK] != two[low : low + _CHUNK])
        if differ.size:
            return f"different copy, from byte {low + int(differ[0])} on"
    return "identical copy"


def _rope_objects(config: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The objects that describe the rotation of full layers, with their pointers."""
    found: list[tuple[str, dict[str, Any]]] = []
    for key in ("rope_parameters", "rope_scaling"):
        inner = config.get(key)
        if isinstance(inner, dict):
            full = inner.get("full_attention")
            if isinstance(full, dict):
                found.append((f"/{key}/full_attention", full))
            else:
                found.append((f"/{key}", inner))
    return found


def rotary_base(compared: Compared) -> Evidence:
    """All places give one rotary base of the full layers, as float32."""
    documents, field = compared.documents, "rope_theta"
    publisher = _declared(_CONFIG, "/rope_theta", documents.config, field)
    for place, inner in _rope_objects(documents.config):
        publisher += _declared(_CONFIG, f"{place}/rope_theta", inner, field)
    name = _gguf_key(documents, "rope.freq_base")
    publisher += _declared("provenance.cbor", f"/gguf/fields/{name}", documents.gguf, name)
    stated = [d for d in publisher if d.value is not None]
    good = [d for d in stated if not CONFIG_BOUNDS[field].problem(d.value)]
    values = {float(np.float32(d.value)) for d in good}
    if len(values) > 1:
        detail = "; ".join(f"{d.place} says {d.value!r}" for d in good)
        compared.findings.add("ROPE_CONFLICT", good[0].place, detail, field)
    undefined = "" if stated else "config.json leaves it to the source framework"
    chosen = next(iter(values)) if len(values) == 1 and len(good) == len(stated) else None
    return Evidence(field, tuple(publisher), undefined=undefined, chosen=chosen)


def rotary_kind(compared: Compared) -> Evidence:
    """All places name one kind of rotary embedding; a place that names none says nothing.

    What both objects of `config.json` hold beside the kind is the same, too.
    """
    documents, field = compared.documents, "rope_type"
    publisher = []
    for place, inner in _rope_objects(documents.config):
        for name in ("rope_type", "type"):
            publisher += _declared(_CONFIG, f"{place}/{name}", inner, name)
    name = _gguf_key(documents, "rope.scaling.type")
    publisher += _declared("provenance.cbor", f"/gguf/fields/{name}", documents.gguf, name)
    # GGUF writes `none` for what the framework calls `default`.
    kinds = {"default" if d.value == "none" else str(d.value) for d in publisher}
    differing = _differing_scaling(documents.config)
    publisher += differing
    if len(kinds) > 1 or differing:
        detail = "; ".join(f"{d.place} says {shown(d.value)}" for d in publisher)
        compared.findings.add("ROPE_CONFLICT", publisher[0].place, detail, field)
        return Evidence(field, tuple(publisher))
    undefined = "" if publisher else "config.json leaves it to the source framework"
    return Evidence(field, tuple(publisher), undefined=undefined, chosen=next(iter(kinds), None))


def _differing_scaling(config: dict[str, Any]) -> list[Declaration]:
    """Keys of both rotary objects with two values; kind and base have rules of their own."""
    objects = _rope_objects(config)
    if len(objects) < 2:
        return []
    (_, one), (_, two) = objects
    shared = sorted((one.keys() & two.keys()) - {"rope_type", "type", "rope_theta"})
    return [
        Declaration(_CONFIG, f"{place}/{key}", row[key])
        for key in shared
        if one[key] != two[key]
        for place, row in objects
    ]


def licence(compared: Compared) -> Evidence:
    """Whether a licence text or the card says under what terms the weights come."""
    root, card = compared.documents.root, compared.documents.card
    found = (p.name for p in root.iterdir())
    names = sorted(name for name in found if is_licence(name) and not is_notice(name))
    publisher = [Declaration(name, "", "text") for name in names]
    if card.licence:
        publisher.append(Declaration(card.name, "license", card.licence))
    key = "general.license"
    gguf = compared.documents.gguf
    publisher += _declared("provenance.cbor", f"/gguf/fields/{key}", gguf, key)
    if not publisher:
        detail = "neither a licence text nor a model card that names one"
        compared.findings.add("LICENCE_MISSING", root.name, detail, "licence", NOTE)
    return Evidence("licence", tuple(publisher), undefined="" if publisher else "no file says")
