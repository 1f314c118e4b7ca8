import importlib.util

import pytest

from crashlens.errors import MissingExtraError
from crashlens.report.fonts import find_fonts


def test_the_fonts_hold_latin_hangul_hanzi_and_kana_and_no_emoji() -> None:
    fonts = find_fonts()
    assert {ord(char) for char in "aZ0é°µ→≤한글显卡サ"} <= fonts.holds
    assert ord("🔥") not in fonts.holds
    assert ord("a") in fonts.narrow
    assert ord("한") not in fonts.narrow
    assert all(folder.is_dir() for folder in fonts.folders)


def test_a_missing_font_package_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    find_fonts.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crashlens-gpu\[pdf\]'"):
        find_fonts()
