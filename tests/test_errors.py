import inspect

import pytest

from crashlens import errors


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("NoSuchInputError", FileNotFoundError),
        ("UnknownTimeZoneError", ValueError),
        ("WindowError", ValueError),
        ("MissingColumnError", KeyError),
        ("DataFileError", ValueError),
        ("NotACaseError", ValueError),
        ("OutputExistsError", FileExistsError),
        ("MissingExtraError", ImportError),
        ("ReportError", RuntimeError),
    ],
)
def test_every_error_is_ours_and_the_nearest_builtin(name: str, builtin: type[Exception]) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.CrashlensError)
    assert issubclass(kind, builtin)


def test_every_error_of_the_module_is_in_that_table() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(kinds) == 10
    assert all(kind.__name__.endswith("Error") for kind in kinds)


def test_a_message_is_a_sentence_facts_and_a_way_out() -> None:
    error = errors.MissingColumnError("It lacks one.", facts=[("a", "1"), ("long", "2")], way_out="Do this.")
    assert str(error) == "It lacks one.\n  a     1\n  long  2\nDo this."
    assert (error.sentence, error.facts, error.way_out) == ("It lacks one.", (("a", "1"), ("long", "2")), "Do this.")
    assert str(errors.ReportError("Only a sentence.")) == "Only a sentence."


def test_os_errors_of_ours_print_the_message_and_no_number() -> None:
    assert str(errors.NoSuchInputError("It is gone.")) == "It is gone."
    assert str(errors.OutputExistsError("It is there.", way_out="--force")) == "It is there.\n--force"


def test_a_zone_without_any_close_name_still_has_a_way_out() -> None:
    error = errors.UnknownTimeZoneError("%%%", given_by="tz", known=["Asia/Seoul", "Europe/Berlin"])
    assert "no close name (of 2: error.known)" in str(error)
    assert 'Use a place, such as tz="Asia/Seoul"' in str(error)
    assert error.known == ("Asia/Seoul", "Europe/Berlin")


def test_an_abbreviation_is_not_mended_into_another_zone() -> None:
    known = ["Asia/Seoul", "EST", "HST", "MST"]
    assert "no close name" in str(errors.UnknownTimeZoneError("KST", given_by="--tz KST", known=known))
    assert 'Use tz="Asia/Seoul"' in str(errors.UnknownTimeZoneError("asia/seoul", given_by="tz", known=known))


def test_a_faulty_data_file_carries_all_its_faults() -> None:
    error = errors.DataFileError("The catalog", ["a.toml:1: x", "a.toml:2: y"])
    assert error.faults == ("a.toml:1: x", "a.toml:2: y")
    assert "The catalog has 2 fault(s); nothing of it was loaded." in str(error)
