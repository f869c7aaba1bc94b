"""The command of the crate, which reads containers."""

from pathlib import Path

import pytest

from trlm_lab.backends import native_command
from trlm_lab.errors import (
    NativeCommandError,
    TrlmError,
)

pytestmark = pytest.mark.xdist_group("flows")


def test_a_command_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in {
        "status": "#!/bin/sh\necho gone >&2\nexit 9\n",
        "words": "#!/bin/sh\necho no JSON\n",
        "nothing": None,
    }.items():
        program = tmp_path / name
        if script is not None:
            program.write_text(script)
            program.chmod(0o755)
        monkeypatch.setattr(native_command, "built", lambda build, program=program: program)
        with pytest.raises(NativeCommandError):
            native_command.golden_verify(tmp_path)


def test_the_command_refuses_wrong_usage() -> None:
    import subprocess

    program = native_command.built(native_command.wanted_command())
    for arguments in ([], ["golden"], ["golden", "burn", "x"], ["golden", "verify", "a", "b"]):
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(b"usage: trlm-ref golden")


def test_the_commands_sources_do_not_make_the_library() -> None:
    from trlm_lab.backends.runtime_source import command_files, source_files

    ours = {path.name for path in command_files()} - {"sha256.rs"}
    assert {"golden.rs", "trlm-ref.rs", "cbor.rs", "schema.rs"} <= ours
    assert not {
        p for p in source_files() if "golden" in str(p.parent.name) or p.parent.name == "bin"
    }


def test_reserializing_a_refused_document(tmp_path: Path) -> None:
    with pytest.raises(TrlmError, match="GOLDEN_CASE_MISSING"):
        native_command.golden_reserialize(tmp_path)
