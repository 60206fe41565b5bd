"""Secrets of an action: placeholders become the values of environment variables when the server executes it.

SECURITY. A run stores and shows placeholders only. The action lists them by name in its parameter `secrets`; each has
the digest of an event in it, so that no value from outside can imitate one. A name must be granted with --exec-env.
The values are redacted in everything that the action returns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.machine.redaction import NO_MASK, Mask


def with_secrets(parameters: Mapping[str, Json], grant: Grant) -> tuple[dict[str, Json], Mask]:
    """The parameters with the values of the secrets in them, and the mask that hides these values.

    A secret that is not available is an error only if the action uses it.
    """
    listed = parameters.get("secrets")
    others = {name: value for name, value in parameters.items() if name != "secrets"}
    if not isinstance(listed, dict) or not listed:
        return others, NO_MASK
    # Only granted names, even if the action lists others.
    values = {name: os.environ[name] for name in listed if name in grant.env and name in os.environ}
    # A name that is not available stays in the table, so that its use can be reported.
    filled = {str(mark): values.get(name) for name, mark in listed.items()}
    names = {str(mark): name for name, mark in listed.items()}
    found = {key: _filled(value, filled, names) for key, value in others.items()}
    return found, Mask(values.values())


def _filled(value: Json, filled: Mapping[str, str | None], names: Mapping[str, str]) -> Json:
    match value:
        case str():
            for mark, secret in filled.items():
                if mark not in value:
                    continue
                if secret is None:
                    raise ExecutionError(
                        f"the secret {names[mark]} is not available",
                        "secret_missing",
                        f"The operator of the server grants it with --exec-env {names[mark]}.",
                    )
                value = value.replace(mark, secret)
            return value
        case dict():
            return {key: _filled(item, filled, names) for key, item in value.items()}
        case list():
            return [_filled(item, filled, names) for item in value]
    return value
