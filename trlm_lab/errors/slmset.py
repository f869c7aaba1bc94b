"""Errors of `.slmset` directories; one class per broken rule."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class SlmsetError(Refused):
    """Root of the refusals of a set."""

    code = "SLMSET"
    rule = "{field} is {got}, expected {expected}"
    fix = "fetch the file again, or split the artifact again"


class SlmsetManifestError(SlmsetError):
    """A manifest that is no canonical CBOR of this schema, or contradicts itself."""

    code = "SLMSET_MANIFEST"


class SlmsetUnsupportedError(SlmsetError):
    """A kind of shard or a codec that the format defines and this reader does not read."""

    code = "SLMSET_UNSUPPORTED"
    fix = "fetch the shards into the directory, with codec none, zstd or brotli"


class SlmsetPolicyError(SlmsetError):
    """A declared size above the policy, refused before anything is read or decoded."""

    code = "SLMSET_POLICY"
    fix = "split the artifact again; no writer makes larger pieces than 1 MiB"


class SlmsetFileError(SlmsetError):
    """A file of the set that is missing, or of another length."""

    code = "SLMSET_FILE"


class SlmsetFrontError(SlmsetError):
    """A front matter of another hash, or one that contradicts the manifest."""

    code = "SLMSET_FRONT"


class SlmsetStoredHashError(SlmsetError):
    """Stored bytes of another hash; no decoder has seen them."""

    code = "SLMSET_STORED_HASH"


class SlmsetShardHashError(SlmsetError):
    """A shard whose stored bytes have another hash."""

    code = "SLMSET_SHARD_HASH"


class SlmsetDecodeError(SlmsetError):
    """Stored bytes that are not exactly one frame or stream of their codec."""

    code = "SLMSET_DECODE"


class SlmsetTooLongError(SlmsetError):
    """A decoder that yields more than the declared size."""

    code = "SLMSET_TOO_LONG"


class SlmsetTooShortError(SlmsetError):
    """A decoder that yields less than the declared size."""

    code = "SLMSET_TOO_SHORT"


class SlmsetLogicalHashError(SlmsetError):
    """Decoded bytes of another hash."""

    code = "SLMSET_LOGICAL_HASH"


class SlmsetIdentityError(SlmsetError):
    """A whole that is another file than the manifest says, though every piece has its hash."""

    code = "SLMSET_IDENTITY"


class SlmsetProofError(SlmsetError):
    """A proof document that is malformed, or does not lead to what is trusted."""

    code = "SLMSET_PROOF"
    fix = "take the proof from the artifact whose root is trusted"


class ProofChoiceError(UsageError):
    """A proof of nothing in particular, rows that are no range, or a hash that is none."""

    code = "PROOF_CHOICE"
    rule = "{got} says nothing that could be proved"
    fix = "give --piece N, or --tensor NAME and --rows FIRST:END; hashes are 64 hex digits"
