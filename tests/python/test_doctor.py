"""What ``episodica doctor`` says about a directory, on invented mounts."""

from collections import namedtuple
from pathlib import Path

import pytest

from episodica import MemorySystem
from episodica.cli import doctor, main

Usage = namedtuple("Usage", ["total", "used", "free"])

MOUNTS = """overlay / overlay rw 0 0
/dev/vdb {0} ext4 rw 0 0
server:/home {0}/far\\040away nfs4 rw 0 0
/dev/vdc {0}/twice xfs rw 0 0
tmpfs {0}/twice tmpfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    file = tmp_path / "mounts"
    file.write_text(MOUNTS.format(tmp_path.resolve()))
    return file


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (".", "ext4"),
        ("far away", "nfs4"),
        ("far away/store", "nfs4"),
        ("far", "ext4"),
        ("twice", "tmpfs"),
        ("/nowhere", "overlay"),
    ],
)
def test_the_innermost_mount_names_the_file_system(
    tmp_path: Path, mounts: Path, name: str, kind: str
) -> None:
    assert doctor.file_system(tmp_path / name, mounts) == kind


def test_a_system_without_mounts_is_unknown(tmp_path: Path) -> None:
    assert doctor.file_system(tmp_path, tmp_path / "none") == "unknown"


def test_a_store_over_a_network_on_a_full_disk_is_two_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "file_system", lambda path: "nfs4")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: Usage(1, 1, 1_000))
    problems: list[str] = []
    found = doctor.directory(tmp_path / "not" / "there", problems)
    assert found == {"writable": True, "free_bytes": 1_000, "file_system": "nfs4"}
    assert problems == [
        "the store is reached over a network (nfs4), which the engine refuses",
        "the disk is almost full: 1,000 bytes are free",
    ]


def test_a_place_that_is_not_writable_is_a_problem_for_a_new_store_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    problems: list[str] = []
    assert doctor.directory(tmp_path, problems)["writable"] is False
    assert problems == []
    doctor.directory(tmp_path / "new", problems)
    assert problems == [f"no store can be made here, `{tmp_path}` is not writable"]


def test_a_writable_store_is_not_called_read_only(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    MemorySystem(store).close()
    assert main(["--store", str(store), "doctor"]) == 0
    told = capsys.readouterr().out
    assert "read only" not in told
    assert "health.store.problems" in told


def test_files_that_need_attention_are_named_with_what_to_do(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    MemorySystem(store).close()
    (store / "locks" / "000.append").mkdir()
    assert main(["--store", str(store), "doctor"]) == 1
    told = capsys.readouterr().out
    for part in ("000.append", "move it away"):
        assert part in told
