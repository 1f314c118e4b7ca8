"""The one place where secrets are masked: tokens, keys, passwords and e-mail addresses, before text enters a table.

Masking at the door means that no output can show what no table holds: findings, notebooks, PDFs, saved cases.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

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
        for row in tomllib.loads(text)["secret"]
    )


def mask_secrets(text: str) -> str:
    """`text` with every secret replaced by a mask; the name in front of a secret stays readable."""
    for _ in range(MOST_ROUNDS):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str) -> str:
    folded = text.casefold()
    for secret in secrets():
        if not any(word in folded for word in secret.needs):
            continue
        keeps = "keep" in secret.pattern.groupindex
        replacement = (r"\g<keep>" if keeps else "") + secret.mask
        text = secret.pattern.sub(replacement, text)
    return text
