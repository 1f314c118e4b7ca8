"""The one place where secrets are masked: tokens, keys, passwords and e-mail addresses, before text enters a table.

Masking at the door means that no output can show what no table holds: findings, notebooks, PDFs, saved cases.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from crashlens.catalog.toml_text import toml_document

MOST_ROUNDS = 8  # a secret glued to another is seen only when that one is masked


@dataclass(frozen=True, slots=True)
class Secret:
    """One kind of secret: what it looks like, words of which it always holds one, and what stands in its place."""

    id: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    mask: str
    source: str
    masks: tuple[str, ...]
    leaves: tuple[str, ...]


@lru_cache(maxsize=1)
def secrets() -> tuple[Secret, ...]:
    """The kinds of secrets that are masked, in the order they are looked for."""
    text = (resources.files("crashlens.scan") / "secrets.toml").read_text(encoding="utf-8")
    return tuple(
        Secret(
            row["id"],
            tuple(row["needs"]),
            re.compile(row["pattern"]),
            row["mask"],
            row["source"],
            tuple(row["masks"]),
            tuple(row["leaves"]),
        )
        for row in toml_document(text)["secret"]
    )


@lru_cache(maxsize=1)
def _needed() -> tuple[tuple[tuple[str, tuple[Secret, ...]], ...], int]:
    """Every word of which a secret needs one, with those secrets, and the length of the shortest word."""
    words = dict.fromkeys(word for secret in secrets() for word in secret.needs)
    return tuple((word, tuple(one for one in secrets() if word in one.needs)) for word in words), min(map(len, words))


def mask_secrets(text: str) -> str:
    """`text` with every secret replaced by a mask; the name in front of a secret stays readable."""
    words, shortest = _needed()
    if len(text) < shortest:
        return text
    for _ in range(MOST_ROUNDS):
        folded = text.casefold()
        possible: set[str] = set()
        for word, of in words:  # no generator: nearly every text leaves here, and there are many
            if word in folded:
                possible.update(secret.id for secret in of)
        if not possible:
            return text
        masked = _masked_once(text, possible)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str, possible: set[str]) -> str:
    for secret in secrets():
        if secret.id not in possible:
            continue
        keeps = "keep" in secret.pattern.groupindex
        replacement = (r"\g<keep>" if keeps else "") + secret.mask
        text = secret.pattern.sub(replacement, text)
    return text
