"""llama.cpp's vocabulary in a process of its own: whatever that does, the caller has one error."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.text.ggml.made_vocabulary import byte_level, gguf_bytes
from tests.text.ggml.peers import require_llama_cpp
from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
from trlm_lab.errors import PeerEndedError, PeerSilentError, TokenizerFileError

#: A peer that says that it holds one token.
OPENED = "import os, time; os.write(1, b'\\1' + b'\\4' + bytes(7) + b'\\1\\0\\0\\0'); "


@pytest.fixture(autouse=True)
def _peer() -> None:
    require_llama_cpp()


def stub(program: str, seconds: float = 60.0) -> LlamaCppVocabulary:
    """A peer that is a Python program."""
    command = (sys.executable, "-c", program)
    return LlamaCppVocabulary(Path("m.gguf"), command=command, seconds=seconds)


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != b"Z"


@pytest.fixture
def real(tmp_path: Path) -> LlamaCppVocabulary:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(byte_level("gpt-2")))
    return LlamaCppVocabulary(path)


@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV", "SIGKILL"])
def test_a_peer_that_ends_over_the_file(name: str) -> None:
    with pytest.raises(PeerEndedError) as ended:
        stub(f"import os, signal; os.write(2, b'why'); os.kill(os.getpid(), signal.{name})")
    assert (ended.value.code, ended.value.exit_status, ended.value.where) == (
        "PEER_ENDED", 4, "m.gguf",
    )  # fmt: skip
    assert f"signal {name}" in ended.value.detail
    assert "why" in ended.value.detail


def test_a_peer_that_leaves_without_a_word() -> None:
    with pytest.raises(PeerEndedError, match="exit status 3"):
        stub("raise SystemExit(3)")


def test_a_peer_that_is_silent() -> None:
    with pytest.raises(PeerSilentError) as silent:
        stub("import time; time.sleep(600)", seconds=0.2)
    assert (silent.value.code, silent.value.exit_status) == ("PEER_SILENT", 4)


@pytest.mark.parametrize("text", [b"a", b"a" * (1 << 20)], ids=["short", "longer than a pipe"])
def test_a_peer_that_hangs_in_a_call(text: bytes) -> None:
    peer = stub(OPENED + "time.sleep(600)", seconds=5.0)
    peer._pipe._seconds = 0.2
    with pytest.raises(PeerSilentError):
        peer.encode(text, add_special=False, parse_special=False)
    assert not alive(peer.pid)


def test_a_peer_that_is_killed(real: LlamaCppVocabulary) -> None:
    """The calls that follow have the same error; closing is in order."""
    assert real.encode(b"a", add_special=False, parse_special=True)
    os.kill(real.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(PeerEndedError, match="SIGKILL"):
            real.encode(b"a", add_special=False, parse_special=True)
    with pytest.raises(PeerEndedError):
        real.decode([0], show_special=True)
    real.close()


def test_a_peer_without_memory(real: LlamaCppVocabulary) -> None:
    resource.prlimit(real.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    with pytest.raises(PeerEndedError):
        real.encode(b"a " * (1 << 20), add_special=False, parse_special=True)


def test_a_file_that_llama_cpp_aborts_on(tmp_path: Path) -> None:
    """Two tokens of one text break an assertion there."""
    fields = byte_level("gpt-2")
    fields["tokenizer.ggml.tokens"][1] = fields["tokenizer.ggml.tokens"][0]
    path = tmp_path / "twice.gguf"
    path.write_bytes(gguf_bytes(fields))
    with pytest.raises(PeerEndedError, match="SIGABRT") as ended:
        LlamaCppVocabulary(path)
    assert ended.value.where == "twice.gguf"


def test_a_file_that_llama_cpp_refuses(tmp_path: Path) -> None:
    path = tmp_path / "none.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(TokenizerFileError):
        LlamaCppVocabulary(path)


def test_the_process_ends_with_the_object(real: LlamaCppVocabulary) -> None:
    assert alive(real.pid)
    real.close()
    real.close()
    assert not alive(real.pid)


CALLER = """
import os, signal, sys
from pathlib import Path
from trlm_lab.backends.llama_cpp_vocabulary import LlamaCppVocabulary
peer = LlamaCppVocabulary(Path(sys.argv[1]))
print(peer.pid, flush=True)
os.kill(os.getpid(), signal.{name})
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_no_process_outlives_its_caller(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(byte_level("gpt-2")))
    command = [sys.executable, "-c", CALLER.format(name=name), str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.Signals[name]
    pid = int(done.stdout)
    for _ in range(6000):
        if not alive(pid):
            return
        time.sleep(0.01)
    pytest.fail("the peer runs on")
