import os
from pathlib import Path

import pytest

from crashlens.errors import NoSuchInputError
from crashlens.scan.member import Member
from crashlens.scan.walk import LeftOut, walk


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the user: not above the evidence."""
    here = tmp_path / "elsewhere"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n", encoding="utf-8")
    return folder


def shown(*paths: Path | str) -> list[str | tuple[str, str]]:
    return [entry.path if isinstance(entry, Member) else (entry.path, entry.why) for entry in walk(paths)]


def test_files_of_a_folder_come_sorted_under_the_name_of_the_folder(tmp_path: Path) -> None:
    folder = tree(tmp_path / "incident", "b.log", "a.log", "sub/c.log", "sub/deep/d.log")
    assert shown(folder) == ["incident/a.log", "incident/b.log", "incident/sub/c.log", "incident/sub/deep/d.log"]


def test_a_single_file_is_shown_by_its_name(tmp_path: Path) -> None:
    assert shown(tree(tmp_path, "x/a.log") / "x" / "a.log") == ["a.log"]


def test_below_the_working_directory_paths_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path / "work", "in/a.log", "in/b.log")
    monkeypatch.chdir(tmp_path / "work")
    assert shown("in") == ["in/a.log", "in/b.log"]
    assert shown("in/a.log", tmp_path / "work" / "in" / "b.log") == ["in/a.log", "in/b.log"]
    assert shown(".") == ["in/a.log", "in/b.log"]
    assert shown("./in/../in") == ["in/a.log", "in/b.log"]


@pytest.mark.parametrize("here", ["/", "home", "home/user"])
def test_no_path_shows_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    folder = tree(tmp_path / "home" / "user" / "logs", "a.log")
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "user"))
    monkeypatch.chdir("/" if here == "/" else tmp_path / here)
    assert shown(folder) == ["logs/a.log"]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in", "a.log")
    os.link(folder / "a.log", folder / "hard.log")
    (folder / "soft.log").symlink_to("a.log")
    assert shown(folder, folder / "a.log", folder) == ["in/a.log"]


def test_links_out_of_the_folder_are_not_followed_and_said(tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", "secret.log")
    folder = tree(tmp_path / "in", "a.log")
    (folder / "l.log").symlink_to(outside / "secret.log")
    (folder / "lf").symlink_to(outside)
    (folder / "broken.log").symlink_to(tmp_path / "nowhere")
    (folder / "loop.log").symlink_to("loop.log")
    got = shown(folder)
    assert [entry for entry in got if isinstance(entry, str)] == ["in/a.log"]
    left_out = dict(entry for entry in got if isinstance(entry, tuple))
    assert left_out["in/l.log"] == "a link that leaves the folder"
    assert left_out["in/lf"] == "a link to a folder"
    assert left_out["in/broken.log"] == "a link that leaves the folder"
    assert set(left_out) == {"in/l.log", "in/lf", "in/broken.log", "in/loop.log"}


def test_a_link_that_was_given_itself_is_followed(tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", "a.log")
    (tmp_path / "link.log").symlink_to(outside / "a.log")
    (tmp_path / "linked").symlink_to(outside)
    assert shown(tmp_path / "link.log") == ["link.log"]
    assert shown(tmp_path / "linked") == ["linked/a.log"]


def test_hidden_folders_are_not_entered_and_said(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in", "a.log", ".git/config", "__pycache__/x.pyc")
    got = shown(folder)
    assert [entry for entry in got if isinstance(entry, str)] == ["in/a.log"]
    assert {entry for entry in got if isinstance(entry, tuple)} == {
        ("in/.git", "a hidden folder"),
        ("in/__pycache__", "a hidden folder"),
    }


def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in", "a.log")
    os.mkfifo(folder / "pipe")
    assert shown(folder) == ["in/a.log", ("in/pipe", "not a regular file")]
    assert shown(folder / "pipe") == [("pipe", "not a regular file")]
    assert shown("/dev/null") == [("null", "not a regular file")]


@pytest.mark.parametrize("last", ["z", "b"])
def test_a_folder_that_cannot_be_opened_is_said_without_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    folder = tree(tmp_path / "in", "a.log", "m/n.log", f"{last}/shut.log")
    real = os.scandir

    def scandir(path: str) -> object:  # root opens everything, so the system has to be asked to refuse
        if Path(path).name == last:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    got = shown(folder)
    assert (f"in/{last}", "the folder cannot be opened (Permission denied)") in got
    assert [entry for entry in got if isinstance(entry, str)] == ["in/a.log", "in/m/n.log"]


def test_names_that_are_not_utf_8_are_shown(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in")
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.log")).write_text("x\n", encoding="utf-8")
    (folder / "로그.log").write_text("x\n", encoding="utf-8")
    assert shown(folder) == ["in/caf\\xe9.log", "in/로그.log"]


def test_a_path_that_is_not_there_is_an_error_that_reads_well(tmp_path: Path) -> None:
    with pytest.raises(NoSuchInputError) as caught:
        list(walk(["gone.log", tmp_path, "gone2.log"]))
    assert str(caught.value) == (
        "'gone.log' is not there; nothing was read.\n"
        "  working directory  elsewhere\n"
        "  missing            gone2.log\n"
        "Check the path, or give the folder that holds the logs."
    )
    assert isinstance(caught.value, FileNotFoundError)


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert shown(tmp_path / "in") == []


def test_left_out_is_no_member(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in", "a.log")
    (entry,) = walk([folder])
    assert not isinstance(entry, LeftOut)
    assert entry.size == 6
