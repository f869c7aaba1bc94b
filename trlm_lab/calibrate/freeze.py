"""Frozen policies on disk: canonical CBOR that is the policy, JSON beside it that people read.

The SHA-256 of the CBOR file is the policy id. A frozen policy is never overwritten by another.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trlm_lab.base import canon, strict_json
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import TolerancePolicy
from trlm_lab.errors import PolicyFileError, PolicyFrozenError, TrlmError


def _readable(path: Path) -> Path:
    return path.with_suffix(".json")


def freeze(policy: TolerancePolicy, path: Path) -> str:
    """Write `path` (CBOR) and its `.json` twin; return the policy id. Again is no change.

    Raises:
        PolicyFrozenError: the file holds another policy.
        PolicyFileError: `path` itself ends in `.json`, or a file there is malformed.
    """
    if path.suffix == ".json":
        raise PolicyFileError(where=str(path), detail="the CBOR file must not end in .json")
    if path.exists():
        held = _parse(path).policy_id
        if held != policy.policy_id:
            raise PolicyFrozenError(
                where=str(path), path=path.name, held=held, new=policy.policy_id
            )
    document = {"policy_id": policy.policy_id, "policy": policy.to_map()}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_atomically(path, canon.encode(policy.to_map()))
    write_atomically(_readable(path), text.encode())
    return policy.policy_id


def load_policy(path: Path, policy_id: str | None = None) -> TolerancePolicy:
    """Read a frozen policy and verify its id.

    The id is `policy_id` where given, else the one in the JSON twin; where the twin exists, both
    files must say the same.

    Raises:
        PolicyFileError: missing, malformed, or not the policy that the id names.
    """
    policy = _parse(path)
    twin = _twin(path)
    if policy_id is None and twin is None:
        detail = "neither an expected id nor the JSON twin says which policy this should be"
        raise PolicyFileError(where=str(path), detail=detail)
    for expected in (policy_id, None if twin is None else twin.get("policy_id")):
        if expected is not None and expected != policy.policy_id:
            detail = f"the file is the policy {policy.policy_id}, expected {expected}"
            raise PolicyFileError(where=str(path), detail=detail)
    if twin is not None and twin.get("policy") != policy.to_map():
        detail = "the JSON twin and the CBOR file hold different policies"
        raise PolicyFileError(where=str(path), detail=detail)
    return policy


def _parse(path: Path) -> TolerancePolicy:
    try:
        row = canon.decode(path.read_bytes(), where=str(path))
        return TolerancePolicy.from_map(row)
    except OSError as error:
        raise PolicyFileError(where=str(path), detail=f"cannot be read: {error}") from error
    except TrlmError as error:
        raise PolicyFileError(where=str(path), detail=error.detail) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"the map is no policy: {type(error).__name__}: {error}"
        raise PolicyFileError(where=str(path), detail=detail) from error


def _twin(path: Path) -> dict[str, Any] | None:
    readable = _readable(path)
    if not readable.exists():
        return None
    try:
        document = strict_json.load_file(readable)
    except TrlmError as error:
        raise PolicyFileError(where=str(readable), detail=error.detail) from error
    if not isinstance(document, dict) or not {"policy_id", "policy"} <= set(document):
        raise PolicyFileError(where=str(readable), detail="policy_id and policy are required")
    return document
