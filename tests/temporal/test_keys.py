"""Keys that can't be used are refused with the reason, and without quoting them."""

from __future__ import annotations

import os
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.temporal.keys import NEW, OLD, id_of, text_of
from wfc.cli import serve, worker
from wfc_runtime.errors import RequestError
from wfc_runtime.service.temporal.encryption import read_keyring
from wfc_runtime.service.temporal.settings import TemporalSettings

HEX = OLD.hex()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (HEX, [id_of(OLD)]),
        (HEX.upper(), [id_of(OLD)]),
        (text_of(OLD), [id_of(OLD)]),
        (text_of(OLD).rstrip("="), [id_of(OLD)]),
        (urlsafe_b64encode(b"\xfb\xff" + NEW[2:]).decode(), [id_of(b"\xfb\xff" + NEW[2:])]),
        (f"  {HEX}\n", [id_of(OLD)]),
        (text_of(NEW, OLD), [id_of(NEW), id_of(OLD)]),
        (f"{text_of(NEW)}, {text_of(OLD)},", [id_of(NEW), id_of(OLD)]),
        (f"{NEW.hex()}\n{HEX}", [id_of(NEW), id_of(OLD)]),
    ],
)
def test_keys_are_hexadecimal_or_base64_and_keep_their_order(text: str, ids: list[str]) -> None:
    found = TemporalSettings.of({}, {"WFC_TEMPORAL_KEY": text})
    assert read_keyring(found).ids == ids
    assert text.strip() not in f"{found!r} {found}"


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"KEY": ""}, "WFC_TEMPORAL_KEY is set, but empty"),
        ({"KEY": " \n"}, "WFC_TEMPORAL_KEY is set, but empty"),
        ({"KEY_FILE": ""}, "WFC_TEMPORAL_KEY_FILE is set, but empty"),
        ({"KEY": HEX, "KEY_FILE": "k"}, "WFC_TEMPORAL_KEY and WFC_TEMPORAL_KEY_FILE are both set"),
        ({"KEY": ", "}, "WFC_TEMPORAL_KEY has no key"),
        ({"KEY": HEX[:-2]}, "the key in WFC_TEMPORAL_KEY has 31 bytes; AES-256 needs 32"),
        ({"KEY": HEX + "00"}, "has 33 bytes"),
        ({"KEY": HEX[:-1]}, "neither hexadecimal nor base64"),
        ({"KEY": b64encode(OLD[:16]).decode()}, "has 16 bytes"),
        ({"KEY": "correct horse battery staple!"}, "key 1 of WFC_TEMPORAL_KEY"),
        ({"KEY": "a" * 43 + "!"}, "neither hexadecimal nor base64"),
        ({"KEY": "ключ" * 11}, "neither hexadecimal nor base64"),
        ({"KEY": "0" * 64}, "is not random: it has only 1 different bytes"),
        ({"KEY": b64encode(b"password" * 4).decode()}, "is not random"),
        (
            {"KEY": text_of(OLD, NEW, OLD)},
            f"key 3 of WFC_TEMPORAL_KEY repeats an earlier key.*`{id_of(OLD)}`",
        ),
        ({"KEY": f"{text_of(OLD)},{HEX}"}, "key 2 of WFC_TEMPORAL_KEY repeats an earlier key"),
        ({"KEY": f"{text_of(OLD)},{NEW.hex()[:-2]}"}, "key 2 of WFC_TEMPORAL_KEY has 31 bytes"),
        ({"ENCRYPTED_ONLY": "1"}, "encrypted_only is set, and there is no encryption key"),
        ({"ENCRYPTED_ONLY": "sure", "KEY": HEX}, "WFC_TEMPORAL_ENCRYPTED_ONLY must be 1 or 0"),
    ],
)
def test_a_bad_key_is_refused_with_the_reason(environ: dict[str, str], why: str) -> None:
    with pytest.raises(RequestError, match=why) as caught:
        read_keyring(
            TemporalSettings.of({}, {f"WFC_TEMPORAL_{name}": text for name, text in environ.items()})
        )
    assert caught.value.code == "temporal_settings"
    for word in environ.get("KEY", "").replace(",", " ").split():
        assert len(word) < 8 or word not in str(caught.value)


def key_file(tmp_path: Path, content: bytes, mode: int = 0o600) -> str:
    path = tmp_path / "temporal.key"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def of_file(path: str) -> list[str]:
    return read_keyring(TemporalSettings.of({}, {"WFC_TEMPORAL_KEY_FILE": path})).ids


def test_a_key_file_has_one_key_on_each_line_and_comments(tmp_path: Path) -> None:
    content = f"# since May\n{NEW.hex()}\n\n{text_of(OLD)}\r\n".encode()
    assert of_file(key_file(tmp_path, content)) == [id_of(NEW), id_of(OLD)]
    assert of_file(key_file(tmp_path, content, 0o400)) == [id_of(NEW), id_of(OLD)]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666])
def test_a_key_file_that_others_can_access_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(RequestError, match=rf"can be accessed by other users \(mode {mode:o}\).*chmod 600"):
        of_file(key_file(tmp_path, HEX.encode(), mode))


def test_a_link_to_a_file_that_others_can_access_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(key_file(tmp_path, HEX.encode(), 0o644))
    with pytest.raises(RequestError, match="can be accessed by other users"):
        of_file(str(link))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_key_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = key_file(tmp_path, HEX.encode())
    os.chown(path, 12345, -1)
    with pytest.raises(RequestError, match="belongs to another user"):
        of_file(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no key"),
        (b"\n# nothing yet\n", "has no key"),
        (OLD, "is not text|is neither"),
        (b"\xff\xfe" + HEX.encode("utf-16-le"), "is not text"),
        (b"x" * 100_000, "has more than 65,536 bytes"),
        (HEX.encode() + b"\n" + HEX.encode(), "repeats an earlier key"),
        (f"{HEX} {NEW.hex()}".encode(), "neither hexadecimal nor base64"),
    ],
)
def test_a_bad_key_file_is_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(RequestError, match=why) as caught:
        of_file(key_file(tmp_path, content))
    assert HEX not in str(caught.value)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    cases = {"missing": "No such file", ".": "is not a regular file|Is a directory", "pipe": "not a regular"}
    for name, why in cases.items():
        with pytest.raises(RequestError, match=why):
            of_file(str(tmp_path / name))


def test_the_project_s_key_file_is_relative_to_the_project_and_the_environment_overrides_it(
    tmp_path: Path,
) -> None:
    key_file(tmp_path, NEW.hex().encode())
    table: dict[str, Any] = {"key_file": "temporal.key"}
    assert read_keyring(TemporalSettings.of(table, {}, tmp_path)).ids == [id_of(NEW)]
    environ = {"WFC_TEMPORAL_KEY": HEX}
    assert read_keyring(TemporalSettings.of(table, environ, tmp_path)).ids == [id_of(OLD)]


@pytest.mark.parametrize(("command", "options"), [(worker, []), (serve, ["--engine", "temporal"])])
def test_commands_refuse_a_bad_key_before_they_start(
    command: Any, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WFC_TEMPORAL_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("WFC_TEMPORAL_KEY", HEX[:20])
    done = CliRunner().invoke(command.command, options)
    assert done.exit_code != 0
    assert "the key in WFC_TEMPORAL_KEY has 15 bytes; AES-256 needs 32" in done.output
    assert HEX[:20] not in done.output


def test_the_default_engine_needs_no_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wfc.config import load_config
    from wfc.workspace.runtime import engine_of

    text = '[tool.wfc.temporal]\nkey_file = "missing.key"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert engine_of(load_config(tmp_path), None).name == "sqlite"


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wfc_runtime.service.temporal.encryption.find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"needs the package cryptography.*\[temporal\]"):
        read_keyring(TemporalSettings(key=HEX))
    assert not read_keyring(TemporalSettings())
