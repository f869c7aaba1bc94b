"""A Hub on 127.0.0.1: its API calls for models, its redirects to a store, and its bad days."""

import hashlib
import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 3


def git_sha1(data: bytes) -> str:
    digest = hashlib.sha1(b"blob %d\0" % len(data))
    # No copy of the data: a test measures memory in this process.
    digest.update(data)
    return digest.hexdigest()


@dataclass
class Repository:
    """Commits by id, each a tree of path to content, and branches by name."""

    name: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    lfs: set[str] = field(default_factory=set)
    token: str = ""

    def commit(self, tree: dict[str, bytes], branch: str = "main") -> str:
        """Add a commit and move the branch to it."""
        digest = hashlib.sha1(repr(sorted(tree.items())).encode()).hexdigest()
        self.commits[digest] = dict(tree)
        self.branches[branch] = digest
        return digest


@dataclass
class Behaviour:
    """What goes wrong, by path; counts are how many requests are affected."""

    status: dict[str, tuple[int, int]] = field(default_factory=dict)
    truncate: dict[str, tuple[int, int]] = field(default_factory=dict)
    content: dict[str, bytes] = field(default_factory=dict)
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)
    extra_entries: list[dict[str, Any]] = field(default_factory=list)
    loop: set[str] = field(default_factory=set)
    drip: dict[str, float] = field(default_factory=dict)
    no_ranges: bool = False
    wrong_range: bool = False
    #: Sent with every answer about a file.
    headers: dict[str, str] = field(default_factory=dict)
    #: Status, body and headers in place of what there is.
    answer: dict[str, tuple[int, bytes, list[tuple[str, str]]]] = field(default_factory=dict)
    #: Called after the given path was served once.
    after: dict[str, Any] = field(default_factory=dict)


class HubServer(ThreadingHTTPServer):
    """Serves repositories; `seen` counts requests by path, `headers_seen` keeps their headers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.behaviour = Behaviour()
        self.seen: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.headers_seen: list[tuple[str, dict[str, str]]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def repository(self, name: str) -> Repository:
        return self.repositories.setdefault(name, Repository(name))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    #: Small answers would wait for the client's acknowledgement of their headers.
    disable_nagle_algorithm = True
    server: HubServer

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        with self.server.lock:
            self.server.seen[path] += 1
            self.server.headers_seen.append((path, dict(self.headers)))
        if self._failing(path):
            return
        for pattern, answer in (
            (r"/api/models/([^/]+/[^/]+)/revision/(.+)", self._revision),
            (r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", self._tree),
            (r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._resolve),
            (r"/store/([^/]+/[^/]+)/([^/]+)/(.+)", self._store),
        ):
            found = re.fullmatch(pattern, path)
            if found:
                answer(*found.groups())
                break
        else:
            self._json(404, {"error": "no such page"})
        self._afterwards(path)

    def _afterwards(self, path: str) -> None:
        for name in list(self.server.behaviour.after):
            if path.endswith(name):
                self.server.behaviour.after.pop(name)()

    def _failing(self, path: str) -> bool:
        for name, (status, count) in list(self.server.behaviour.status.items()):
            if path.endswith(name) and count:
                self.server.behaviour.status[name] = (status, count - 1)
                self._json(status, {"error": "a bad day"})
                return True
        for name, (status, body, headers) in self.server.behaviour.answer.items():
            if path.endswith(name):
                self.send_response(status)
                for header in [*headers, ("Content-Length", str(len(body)))]:
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(body)
                return True
        return False

    def _json(self, status: int, row: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(row).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _repository(self, name: str) -> Repository | None:
        found = self.server.repositories.get(name)
        wanted = f"Bearer {found.token}" if found and found.token else ""
        if found is None or (wanted and self.headers.get("Authorization") != wanted):
            headers = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            self._json(404 if found is None else 401, {"error": "Repository not found"}, headers)
            return None
        return found

    def _revision(self, name: str, revision: str) -> None:
        repository = self._repository(name)
        if repository is None:
            return
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            headers = {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev"}
            self._json(404, {"error": "Invalid rev"}, headers)
            return
        self._json(200, {"_id": "1", "id": name, "sha": commit, "tags": [], "siblings": []})

    def _tree(self, name: str, revision: str) -> None:
        repository = self._repository(name)
        if repository is None:
            return
        entries = self._entries(repository, repository.commits[revision])
        query = parse_qs(urlsplit(self.path).query)
        start = int(query.get("cursor", ["0"])[0])
        page = entries[start : start + PAGE]
        headers = {}
        if start + PAGE < len(entries):
            address = f"{self.server.url}/api/models/{name}/tree/{revision}"
            headers["Link"] = f'<{address}?recursive=True&cursor={start + PAGE}>; rel="next"'
        self._json(200, page, headers)

    def _entries(self, repository: Repository, tree: dict[str, bytes]) -> list[dict[str, Any]]:
        folders = {p.rsplit("/", 1)[0] for p in tree if "/" in p}
        rows: list[dict[str, Any]] = [
            {"type": "directory", "path": f, "size": 0, "oid": git_sha1(f.encode())}
            for f in sorted(folders)
        ]
        for path, data in tree.items():
            row: dict[str, Any] = {
                "type": "file", "path": path, "size": len(data), "oid": git_sha1(data)
            }  # fmt: skip
            if path in repository.lfs:
                oid = hashlib.sha256(data).hexdigest()
                row["lfs"] = {"oid": oid, "size": len(data), "pointerSize": 130}
            rows.append(row | self.server.behaviour.listed.get(path, {}))
        return rows + self.server.behaviour.extra_entries

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._repository(name)
        if repository is None:
            return
        if path in self.server.behaviour.loop:
            self._redirect(f"{self.server.url}/{name}/resolve/{revision}/{path}")
        elif path in repository.lfs:
            self._redirect(f"{self.server.url}/store/{name}/{revision}/{path}")
        else:
            self._store(name, revision, path)

    def _redirect(self, address: str) -> None:
        self.send_response(302)
        self._send_further()
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _store(self, name: str, revision: str, path: str) -> None:
        data = self.server.repositories[name].commits.get(revision, {}).get(path)
        if data is None:
            self._json(404, {"error": "no such entry"}, {"X-Error-Code": "EntryNotFound"})
            return
        data = self.server.behaviour.content.get(path, data)
        start = self._start(len(data))
        body = data[start:]
        self.send_response(206 if start else 200)
        self._send_further()
        self.send_header("Content-Length", str(len(body)))
        if start:
            first = start + 1 if self.server.behaviour.wrong_range else start
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self._send(path, body)

    def _send_further(self) -> None:
        for header in self.server.behaviour.headers.items():
            self.send_header(*header)

    def _start(self, size: int) -> int:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not asked or self.server.behaviour.no_ranges:
            return 0
        return min(int(asked[1]), size)

    def _send(self, path: str, body: bytes) -> None:
        kept, times = self.server.behaviour.truncate.get(path, (len(body), 0))
        if times:
            self.server.behaviour.truncate[path] = (kept, times - 1)
            body = body[:kept]
            self.close_connection = True
        pause = self.server.behaviour.drip.get(path, 0.0)
        step = 64 if pause else 1 << 16
        for first in range(0, len(body), step):
            self.wfile.write(body[first : first + step])
            self.wfile.flush()
            with self.server.lock:
                self.server.sent[path] += len(body[first : first + step])
            if pause:
                time.sleep(pause)
