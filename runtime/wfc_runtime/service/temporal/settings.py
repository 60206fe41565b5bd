"""Settings of the Temporal engine: server, access, encryption. This module does not import temporalio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from wfc_runtime.errors import RequestError

PREFIX = "WFC_TEMPORAL_"
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")


@dataclass(frozen=True)
class TemporalSettings:
    address: str = "localhost:7233"
    namespace: str = "default"
    task_queue: str = "wfc"
    tls: bool = False
    tls_ca: str | None = None
    """A file with the CA certificate that verifies the server's."""
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """From the environment only: settings files are committed."""
    key: str | None = field(default=None, repr=False)
    """Encryption keys, separated by commas or whitespace. From the environment only."""
    key_file: str | None = None
    """A file with one encryption key on each line."""
    encrypted_only: bool = False
    """Whether payloads that are not encrypted are refused."""

    @classmethod
    def of(cls, table: Mapping[str, Any], environ: Mapping[str, str], root: Path | None = None) -> Self:
        """The project's settings, overridden by the environment. `root` is the project's folder."""
        values: dict[str, Any] = dict(table)
        if "key_file" in values and root is not None:
            values["key_file"] = str(root / Path(values["key_file"]).expanduser())
        _check_keys(environ)
        for one in fields(cls):
            text = environ.get(f"{PREFIX}{one.name.upper()}")
            if text:
                values[one.name] = _flag(one.name, text) if one.name in FLAGS else text
        found = cls(**values)
        if bool(found.tls_cert) != bool(found.tls_key):
            raise RequestError(
                "temporal_settings", "tls_cert and tls_key go together", "Name both files, or neither."
            )
        return found

    def on_queue(self, task_queue: str | None) -> Self:
        return replace(self, task_queue=task_queue) if task_queue else self

    @property
    def uses_tls(self) -> bool:
        return self.tls or bool(self.api_key or self.tls_ca or self.tls_cert)

    def __str__(self) -> str:
        return f"{self.address}, namespace `{self.namespace}`, task queue `{self.task_queue}`"


FLAGS = ("tls", "encrypted_only")
ENVIRONMENT_ONLY = ("api_key", "key")
SETTABLE = tuple(one.name for one in fields(TemporalSettings) if one.name not in ENVIRONMENT_ONLY)
"""The keys that [tool.wfc.temporal] may have."""


def _check_keys(environ: Mapping[str, str]) -> None:
    """Refuse an empty variable instead of turning encryption off: `KEY=$(cat file)` is empty if there is no file."""
    given = [name for name in (f"{PREFIX}KEY", f"{PREFIX}KEY_FILE") if name in environ]
    for name in given:
        if not environ[name].strip():
            raise RequestError(
                "temporal_settings", f"{name} is set, but empty", "Set it to a key, or unset it."
            )
    if len(given) > 1:
        raise RequestError(
            "temporal_settings",
            f"{' and '.join(given)} are both set",
            "Keys must come from one place: unset one of them.",
        )


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise RequestError("temporal_settings", f"{PREFIX}{name.upper()} must be 1 or 0, not {text[:40]!r}")
    return word in _TRUE
