"""A file that a quick look clears has no secrets, whatever they look like."""

import pytest

from wfc.rules.hardcoded_secret import may_hold_secrets, named_secret, secrets_in

RANDOM = "t7Q2xv91PLk3zz08Ab5Cd6"
TEXTS = [
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ASIA" + "ABCDEFGHIJKLMNOP",
    *(f"gh{letter}_" + "a1B2" * 9 for letter in "pousr"),
    "github_pat_" + "a1B2" * 9,
    "glpat-" + "a1B2" * 9,
    "xoxb-123456-abcdef",
    "use https://hooks.slack.com/services/T123/B456/" + "a1B2" * 5,
    "key sk-proj-" + "a1B2" * 9,
    "(sk_live_" + "a1B2" * 9,
    "sk-" + "a1B2" * 9,
    "AIza" + "a1B2c" * 7,
    "npm_" + "a1B2" * 9,
    "-----BEGIN RSA PRIVATE KEY-----",
    "postgres://user:" + "hunter22" + "@db/x",
    *(f"run --{word}={RANDOM}" for word in ("password", "PassWD", "db-passphrase", "SECRET", "auth_token")),
    *(
        f"{word}: {RANDOM}"
        for word in ("api-key", "ACCESS_KEY", "privatekey", "credentials", "pa\u017f\u017fword")
    ),
]
NAMES = [
    "password",
    "db.passwd",
    "my_passphrase",
    "Secret",
    "userToken",
    "api_key",
    "AccessKey",
    "credential",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_its_form_gives_away_is_not_cleared(text: str) -> None:
    assert secrets_in(text)
    assert may_hold_secrets(["steps", text])


@pytest.mark.parametrize("name", NAMES)
def test_what_its_name_gives_away_is_not_cleared(name: str) -> None:
    assert named_secret(name, RANDOM)
    assert may_hold_secrets([name, RANDOM])


def test_the_words_of_an_ordinary_file_are_cleared() -> None:
    assert not may_hold_secrets(["id", "ask-for-it", "task_1", "make build", "{{ state.build.exit_code }}"])
