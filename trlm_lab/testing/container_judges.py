"""What each of the three readers of `.slm` files says of one: the code of a rule, or nothing.

The rules and their codes are those of docs/formats/slm2.md and slm1.md. The Python reader and the
runtime stop at the first rule that is broken; the inspector goes on and names all that it finds.
"""

from __future__ import annotations

import struct

import numpy as np

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.slm_weights import check_content
from trlm_lab.errors import Refused, RuntimeRefusedError
from trlm_lab.inspector import inspect_bytes
from trlm_lab.slm.model import check_model, effective_config
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm1.layout import MAGIC as SLM1
from trlm_lab.slm1.read import open_slm1
from trlm_lab.slm1.verify import verify_all as verify_slm1
from trlm_lab.text.slm1 import special_ids
from trlm_lab.text.tok2 import MAGIC as TOK2
from trlm_lab.text.tok2 import read_tok2

#: Every hash that the runtime recomputes on request.
EVERY_HASH = 15
#: Stands for every rule of a compiled tokenizer but its hashes.
TOKENIZER = "TOKENIZER"
FORMLESS = "without a place, a reason or a fix"


def by_python(data: bytes) -> str:
    """The code of the first broken rule, an empty text where there is none."""
    try:
        _read(data)
    except Refused as error:
        return _common(error.code) if error.where and error.detail and error.remedy else FORMLESS
    return ""


def _common(code: str) -> str:
    """The rules of a compiled tokenizer are its own format's; here they are one."""
    if code == "TOK2_HASH":
        return "SLM_HASH"
    return TOKENIZER if code.startswith("TOK2_") else code


def _read(data: bytes) -> None:
    if data[:4] == SLM1:
        verify_slm1(open_slm1(data, special_ids, where="it"))
        return
    slm = open_slm(data, where="it")
    config = effective_config(slm)
    check_content(slm)
    check_model(slm, config)
    if slm.tokenizer[:4] == TOK2:
        read_tok2(slm.tokenizer)
    verify_all(slm)


def by_inspector(data: bytes) -> frozenset[str]:
    """The codes of all findings."""
    findings = inspect_bytes(memoryview(data)).findings
    if not all(f.where and f.detail and f.fix for f in findings):
        return frozenset({FORMLESS})
    return frozenset(f.code for f in findings)


#: The rule of each of the runtime's names, for a file of SLM2.
SLM2_RULES = {
    "TRUNCATED": "SLM_LENGTH", "MAGIC": "SLM_VERSION", "VERSION": "SLM_VERSION",
    "HEADER_LEN": "SLM_VERSION", "FLAGS": "SLM_FLAGS", "RESERVED": "SLM_RESERVED",
    "ALIGNMENT": "SLM_ALIGNMENT", "OVERLAP": "SLM_OVERLAP", "ORDER": "SLM_OVERLAP",
    "RANGE": "SLM_RANGE", "LENGTH": "SLM_SHAPE", "TENSOR": "SLM_SHAPE", "STRINGS": "SLM_STRINGS",
    "PIECES": "SLM_PIECES", "SHARDS": "SLM_PIECES", "UNKNOWN_NUMBER": "SLM_UNKNOWN_NUMBER",
    "UNSUPPORTED": "SLM_UNSUPPORTED", "HASH": "SLM_HASH", "ALIAS": "SLM_ALIAS",
    "DUPLICATE": "SLM_TENSOR_SET", "CODE": "QUANT_CODE", "PADDING": "QUANT_PADDING",
    "SCALE": "QUANT_SCALE", "INDEX": "QUANT_INDEX", "NONFINITE": "QUANT_NONFINITE",
    "CBOR": "SLM_CONFIG", "CONFIG_FIELD": "SLM_CONFIG", "CONFIG_UNSUPPORTED": "SLM_CONFIG",
    "CONFIG_DISAGREES": "SLM_CONFIG", "TENSOR_MISSING": "SLM_MODEL", "TENSOR_SHAPE": "SLM_MODEL",
    "TENSOR_UNEXPECTED": "SLM_MODEL", "TENSOR_ROLE": "SLM_MODEL",
}  # fmt: skip
#: The same of SLM1.
SLM1_RULES = {
    "TRUNCATED": "SLM1_LENGTH", "MAGIC": "SLM1_VERSION", "VERSION": "SLM1_VERSION",
    "HEADER_LEN": "SLM1_VERSION", "LENGTH": "SLM1_LENGTH", "FLAGS": "SLM1_FLAGS",
    "CONFIG_FIELD": "SLM1_SHAPE", "TENSOR": "SLM1_SHAPE", "RANGE": "SLM1_RANGE",
    "ORDER": "SLM1_RANGE", "ALIGNMENT": "SLM1_ALIGNMENT", "RESERVED": "SLM1_RESERVED",
    "OVERLAP": "SLM1_OVERLAP", "BTOK": "SLM1_TOKENIZER", "BPE1": "SLM1_TOKENIZER",
    "CONFIG_DISAGREES": "SLM1_TOKENIZER", "UNKNOWN_NUMBER": "SLM1_UNKNOWN_NUMBER",
    "TENSOR_UNEXPECTED": "SLM1_TENSOR_SET", "TENSOR_MISSING": "SLM1_TENSOR_SET",
    "ALIAS": "SLM1_TENSOR_SET", "CHECKSUM": "SLM1_CHECKSUM",
    "CHECKSUM_PROFILE": "SLM1_CHECKSUM_PROFILE", "SCALE": "SLM1_SCALE",
    "NONFINITE": "SLM1_NONFINITE",
}  # fmt: skip


def rule_of(name: str, data: bytes) -> str:
    """The rule that the runtime's name stands for in this file; nothing for nothing."""
    if not name or name.startswith("TOK2_"):
        return _common(name)
    return (SLM1_RULES if data[:4] == SLM1 else SLM2_RULES)[name]


def by_runtime(host: Host, data: bytes) -> str:
    """The runtime's own name of the first broken rule; hashes are looked at last."""
    with Scratch(host, np.frombuffer(data, np.uint8)) as file:
        model = host.call("trlm_model_load", file.address, len(data))
        if model == 0:
            return _name(host)
        try:
            tokenizer = _tokenizer_of(host, file.address, data)
            if tokenizer:
                return tokenizer
            return _name(host) if host.call("trlm_model_verify", model, EVERY_HASH) else ""
        finally:
            host.call("trlm_model_free", model)


def _tokenizer_of(host: Host, address: int, data: bytes) -> str:
    """What the runtime says of a compiled tokenizer in the sound structure of an SLM2 file."""
    start, size = struct.unpack_from("<QQ", data, 112)
    if data[:4] == SLM1 or data[start : start + 4] != TOK2:
        return ""
    text = host.call("trlm_text_load", address + start, size)
    if text == 0:
        return _name(host)
    host.call("trlm_text_free", text)
    return ""


def _name(host: Host) -> str:
    error = last_error(host)
    if not isinstance(error, RuntimeRefusedError):
        raise error
    return str(error.facts["error_name"]) if error.where and error.facts["detail"] else FORMLESS
