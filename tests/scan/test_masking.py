import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.scan.masking import Secret, mask_secrets, secrets

MASKS = [
    pytest.param(secret, text, id=f"{secret.id}-{n}") for secret in secrets() for n, text in enumerate(secret.masks)
]
LEAVES = [pytest.param(text, id=f"{secret.id}-{n}") for secret in secrets() for n, text in enumerate(secret.leaves)]


@pytest.mark.parametrize(("secret", "text"), MASKS)
def test_every_example_is_masked_by_its_row(secret: Secret, text: str) -> None:
    got = mask_secrets(text)
    assert secret.mask in got
    assert secret.pattern.search(text)
    assert not [
        word
        for word in re.findall(r"[\w/+@-]{8,}", text)
        if word in got and not re.search(r"(?i)key|password|authorization|default|example|hf_token", word)
    ]


@pytest.mark.parametrize("text", LEAVES)
def test_every_counter_example_stays(text: str) -> None:
    assert mask_secrets(text) == text


def test_rows_are_documented_and_their_ids_are_unique() -> None:
    rows = secrets()
    assert len({row.id for row in rows}) == len(rows)
    assert all(row.source and row.masks and row.leaves and row.mask for row in rows)


SECRET = "Zq7Xw2Lm9Kp4Vt8R"  # 16 characters that stand nowhere else
HIDDEN = [
    f"hf_{SECRET}",
    f"ghp_{SECRET}{SECRET}aaaa",
    f"github_pat_{SECRET}_{SECRET}",
    f"glpat-{SECRET}-{SECRET}",
    f"sk-proj-{SECRET}",
    f"xoxb-{SECRET}",
    f"nvapi-{SECRET}{SECRET}",
    f"eyJhbGciOiJI.{SECRET}.{SECRET}",
    f"Authorization: Bearer {SECRET}",
    f"authorization: Basic {SECRET}==",
    f"https://user:{SECRET}@registry.example/v2",
    f"WANDB_API_KEY={SECRET}",
    f"aws_secret_access_key = {SECRET}/+{SECRET}",
    f'"password": "{SECRET}"',
    f'password="{SECRET} {SECRET}"',
    f"passphrase='{SECRET}, and {SECRET}'",
    f"--token={SECRET}",
    f"HUGGING_FACE_HUB_TOKEN: {SECRET}",
    f"-----BEGIN RSA PRIVATE KEY-----\\n{SECRET}\\n{SECRET}\\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN OPENSSH PRIVATE KEY----- {SECRET}",
    f"{SECRET}@mail.example.org",
]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("frame", ["{}", "x {} y", '{{"log": "{}"}}', "env: A=1 {} B=2"])
def test_no_secret_survives_in_any_place(text: str, frame: str) -> None:
    assert SECRET not in mask_secrets(frame.format(text))


@pytest.mark.parametrize("times", [2, 3, 7])
def test_secrets_glued_together_are_all_masked(times: int) -> None:
    assert SECRET not in mask_secrets(f"{SECRET}@mail.example.org" * times)
    assert SECRET not in mask_secrets(f"password={SECRET};" * times)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("WANDB_API_KEY=0123456789abcdef", "WANDB_API_KEY=[masked]"),
        ('{"password": "a b c d", "n": 1}', '{"password": "[masked]", "n": 1}'),
        ("HF_SECRET=hf_abcdefghijklmnopqrstuvwx", "HF_SECRET=[masked token]"),
        ("mail a.b@example.org now", "mail [masked e-mail] now"),
        ("redis://u:secret@10.0.0.3:6379/0", "redis://u:[masked]@10.0.0.3:6379/0"),
    ],
)
def test_what_stands_around_a_secret_stays_readable(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:c6:00): 79, pid=1101234, name=python, GPU has fallen off the bus.",
        "[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] x",
        "NVRM: GPU at PCI:0000:3b:00: GPU-392456de-23b8-bc89-1a3d-bd9cad3c2d6d",
        "next token: 12, tokens: 4096, token/s: 1.5",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "comm 0x55d0a7b2c3f0 rank 5 nranks 8 cudaDev 5 busId 9b000 commId 0x7f0c1e2d3a4b5c6d - Init COMPLETE",
    ],
)
def test_lines_of_failures_are_not_touched(text: str) -> None:
    assert mask_secrets(text) == text


PIECES = st.sampled_from(
    [
        *HIDDEN,
        "password",
        "=",
        ":",
        '"',
        "'",
        " ",
        "token",
        "@",
        "[masked]",
        "[masked token]",
        "eyJ",
        "sk-",
        "://",
        "\n",
        "한",
        "\ud800",
    ]
)


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=60))
def test_masking_never_raises_and_masks_once(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a=",
        "token=",
        "password: ",
        "x@",
        "a.b@c.",
        "-----BEGIN PRIVATE KEY-----",
        "ab://x:",
        "basic ",
        "eyJ",
        'password="',
        "_",
        "-",
    ],
)
def test_masking_is_linear(piece: str) -> None:
    def best(length: int) -> float:
        text, times = piece * (length // len(piece)), []
        for _ in range(3):
            begun = time.thread_time()
            mask_secrets(text)
            times.append(time.thread_time() - begun)
        return min(times)

    assert best(40_000) < 0.05 + 9 * best(10_000)
