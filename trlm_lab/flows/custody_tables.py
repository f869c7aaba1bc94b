"""Tables of the chain of custody: what was named, listed, taken, decided, and seen again later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from trlm_lab.acquire.tree_names import name_use
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records import Snapshot
from trlm_lab.errors import TrlmError
from trlm_lab.flows.drift import OBSERVATIONS
from trlm_lab.flows.receipts_view import plain
from trlm_lab.receipts import ReceiptStore, walk

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

Rows = list[dict[str, Any]]
#: A repository may list thousands of files; a page shows the first of them.
_MOST = 200
#: Ids of what lies outside the run are shown short: no record of the run holds them.
_SHORT = 12
_USES = {
    "weights": "weights",
    "taken": "taken as it is",
    "index": "index of the weights",
    "bookkeeping": "left out",
    "other": "converted",
}
_LEFT_OUT = "no part of the model: listed, not read"


def origin_rows(snapshot: Snapshot) -> Rows:
    """Which source was named and what the name meant, by kind of source."""
    statement = snapshot.provenance
    facts: dict[str, Any] = {"source, as named": snapshot.pin.spelled}
    if "hub" in statement:
        facts |= _hub_facts(statement["hub"])
    if "package" in statement:
        facts["package"] = " ".join(map(str, statement["package"].values()))
    if "synthetic" in statement:
        facts["generated from"] = ", ".join(f"{k} {v}" for k, v in statement["synthetic"].items())
    converter = statement.get("converter") or {}
    facts["converter"] = " ".join(map(str, converter.values()))
    facts["snapshot"] = snapshot.snapshot_id
    return _facts(facts)


def hub_rows(snapshot: Snapshot) -> Rows:
    """What a name on a Hub meant; no rows for another source."""
    hub = snapshot.provenance.get("hub")
    return _facts(_hub_facts(hub)) if hub else []


def _facts(facts: Mapping[str, Any]) -> Rows:
    return [{"fact": key, "value": value} for key, value in facts.items()]


def _hub_facts(hub: Mapping[str, Any]) -> dict[str, Any]:
    after, count = hub["resolved_after"] or "nothing", len(hub["tree"])
    left_out = len(hub["left_out"])
    # Records of earlier versions name no server.
    server = {"server": hub["endpoint"]} if "endpoint" in hub else {}
    return {
        **server,
        "repository": hub["repository"],
        "revision, as asked for": hub["requested"],
        "commit that it meant": hub["commit"],
        "resolved again afterwards": "the same commit"
        if after == hub["commit"]
        else f"{after}: the name moved meanwhile; the snapshot stays that of the commit above",
        "files": f"{count} listed, {count - left_out} fetched, {left_out} left out",
    }


def tree_rows(snapshot: Snapshot) -> Rows:
    """Every file that the source listed or gave: size, id, what became of it, and why."""
    statement = snapshot.provenance
    rows = list(_hub_tree(statement["hub"]) if "hub" in statement else _received(statement))
    rows.sort(key=lambda row: row["use"] == "left out")
    if len(rows) > _MOST:
        rows = [*rows[:_MOST], _tree_row("…", None, "", "", f"{len(rows) - _MOST} more files")]
    return rows


def _hub_tree(hub: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    left_out = dict(hub["left_out"])
    for path, size, git_sha1, lfs_sha256 in hub["tree"]:
        listed = f"LFS {lfs_sha256}" if lfs_sha256 else f"Git {git_sha1}"
        use = "left out" if path in left_out else _USES[name_use(path)]
        yield _tree_row(path, size, listed, use, left_out.get(path, ""))


def _received(statement: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in statement.get("materials") or ():
        name = str(plain(row["name"]))
        yield _tree_row(name, row["size"], f"SHA-256 {row['sha256']}", _use(name), "")
    for row in statement.get("ignored") or ():
        if isinstance(row, Mapping):
            listed = f"SHA-256 {row['sha256']}"
            yield _tree_row(str(plain(row["name"])), row["size"], listed, "left out", _LEFT_OUT)
        else:  # an earlier version listed names alone
            yield _tree_row(str(plain(row)), None, "", "left out", _LEFT_OUT)


def _use(name: str) -> str:
    if PurePosixPath(name).suffix == ".whl":
        return "opened as data; two pinned members taken"
    return _USES[name_use(name)]


def _tree_row(name: str, size: int | None, listed: str, use: str, why: str) -> dict[str, Any]:
    return {"file": name, "bytes": size, "listed as": listed, "use": use, "why": why}


def tree_profile_rows(snapshot: Snapshot) -> Rows:
    """The reviewed exceptions to the rules of a repository's tree."""
    profile = (snapshot.provenance.get("hub") or {}).get("tree_profile") or {}
    return [dict(row) for row in profile.get("exceptions") or ()]


def client_cache_rows(snapshot: Snapshot) -> Rows:
    """What the Hub client's own cache gave, or had wrong."""
    notes = (snapshot.provenance.get("hub") or {}).get("client_cache") or ()
    return [{"file": path, "the client's cache": note} for path, note in notes]


def hub_limit_rows(snapshot: Snapshot) -> Rows:
    """The limits that were in force at an acquisition from a Hub; no rows for another source."""
    limits = (snapshot.provenance.get("hub") or {}).get("limits") or {}
    return [
        {"limit": key.replace("_", " "), "value": f"{value:,.10g}"} for key, value in limits.items()
    ]


def licence_rows(snapshot: Snapshot) -> Rows:
    """The decision without which nothing is converted, and the texts that it was made about."""
    licence = snapshot.provenance.get("licence") or {}
    names = {
        "licence": "spdx",
        "decision": "decision",
        "redistribution": "redistribution",
        "attribution": "attribution",
        "reviewer": "reviewer",
    }
    facts = {words: licence.get(key, "not recorded") or "none" for words, key in names.items()}
    kinds = (("licence text", "texts", "text_sha256"), ("model card", "cards", "card_sha256"))
    for words, several, single in kinds:
        facts |= _hashes(words, licence.get(several), licence.get(single, "not recorded"))
    return _facts(facts)


def _hashes(words: str, several: Sequence[Mapping[str, str]] | None, single: Any) -> dict[str, Any]:
    """A fact for every text that a decision names; pins of packages name one."""
    named = {f"SHA-256 of the {words} {row['path']}": row["sha256"] for row in several or ()}
    return named or {f"SHA-256 of the {words}": (single if several is None else "") or "none"}


def agreement_rows(run: Run) -> Rows:
    """The four columns of the declarations as counts; the table itself is another page's."""
    evidence = run.described.receipt["evidence"]
    findings = [row for row in run.described.receipt["findings"] if row["level"] == "error"]
    places = {place["file"] for row in evidence for place in row["publisher"]}
    return _facts(
        {
            "publisher declares": f"{sum(bool(e['publisher']) for e in evidence)} fields "
            f"in {len(places)} files",
            "source implements": f"{sum(e['source'] is not None for e in evidence)} fields",
            "nobody declares": f"{sum(bool(e['undefined']) for e in evidence)} fields",
            "chosen": f"{sum(e['chosen'] is not None for e in evidence)} fields",
            "contradictions": f"{len(findings)} open, "
            f"{len(run.described.receipt['resolutions'])} settled by a reviewed file",
        }
    )


def deviation_rows(run: Run) -> Rows:
    """Reviewed resolutions, each with the sentence that must stand beside every result."""
    keys = {"settles": "code", "field": "field", "kind": "kind", "statement": "statement",
            "reviewer": "reviewer", "SHA-256 of the file": "file_sha256"}  # fmt: skip
    return [
        {words: row[key] for words, key in keys.items()}
        for row in run.described.receipt["resolutions"]
    ]


def drift_rows(snapshot: Snapshot, stores: Sequence[Path]) -> Rows:
    """Every later look at this source that one of the stores holds, a row a change.

    A store that cannot be read gives a row that says so: it is no part of the run.
    """
    rows: Rows = []
    for directory in dict.fromkeys(stores):
        try:
            rows += _observed(ReceiptStore(directory), snapshot.pin.spelled)
        except (TrlmError, OSError, LookupError, TypeError, ValueError) as error:
            code = error.code if isinstance(error, TrlmError) else type(error).__name__
            rows.append(_drift_row("", "", "", {"path": f"unreadable store: {code}"}))
    rows.sort(key=lambda row: row["looked at"])
    return rows


def observation_stores(run: Run) -> list[Path]:
    """Where observations of a run's source lie: in its own store, and in the cache's."""
    return [run.ws.out, trlm_home() / OBSERVATIONS]


def _observed(store: ReceiptStore, pin: str) -> Iterator[dict[str, Any]]:
    for node_id in store:
        node = store.get(node_id)
        if node.type != "drift" or node.metadata["pin"] != pin:
            continue
        seen = store.get_value(node.metadata["changes_blob"])
        time = store.get(node.children[0]).metadata["time_blob"]
        names = f"{_short(seen['pinned'])} → {_short(seen['observed'])}"
        for change in seen["changes"] or ({"path": "nothing changed"},):
            yield _drift_row(store.get_value(time)["utc"], names, _short(node_id), change)


def _short(text: str) -> str:
    return text if " " in text else text[:_SHORT]


def _drift_row(time: str, names: str, node: str, change: Mapping[str, Any]) -> dict[str, Any]:
    fields = (f"{pointer}: {old or 'absent'} → {new or 'absent'}"
              for pointer, old, new in change.get("fields") or ())  # fmt: skip
    return {
        "looked at": time[:19],
        "pinned → seen": names,
        "file": change["path"],
        "change": change.get("change", ""),
        "kind": change.get("kind", ""),
        "fields": "; ".join(fields),
        "node": node,
    }


def custody_node_rows(run: Run) -> Rows:
    """The nodes from the artifacts down to the source's tree, with what each says.

    The nodes of single files are counted by the tree and stand in no row of their own.
    """
    found: dict[str, dict[str, Any]] = {}
    for packed in run.packed.values():
        for node_id, node in walk(run.ws.store, packed.nodes["artifact"]):
            if node.type != "file":
                says = {k: v for k, v in node.metadata.items() if not k.endswith("_blob")}
                words = "; ".join(f"{k.replace('_', ' ')} {plain(v)}" for k, v in says.items())
                found[node_id] = {"type": node.type, "node": node_id, "says": words}
    return list(found.values())
