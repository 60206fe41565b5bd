"""Where the Temporal server is and how to get in. Nothing of Temporal's is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
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
    """A file with the certificate that the server's is checked against."""
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """Only ever from the environment: settings files are committed."""

    @classmethod
    def of(cls, table: Mapping[str, Any], environ: Mapping[str, str]) -> Self:
        """The project's settings; what the environment says wins."""
        values: dict[str, Any] = dict(table)
        for one in fields(cls):
            text = environ.get(f"{PREFIX}{one.name.upper()}")
            if text:
                values[one.name] = _flag(one.name, text) if one.name == "tls" else text
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


SETTABLE = tuple(one.name for one in fields(TemporalSettings) if one.name != "api_key")
"""What [tool.wfc.temporal] may hold."""


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise RequestError("temporal_settings", f"{PREFIX}{name.upper()} must be 1 or 0, not {text[:40]!r}")
    return word in _TRUE
