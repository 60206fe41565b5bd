"""The phases language as JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from wfc.dialects.phases.file import Agent, GitProof, Phase, PhasesFile, Role, ScopeLimits
from wfc.language.schema import shape_schema
from wfc.language.shape import InputDecl, Validation
from wfc.language.steps.base import Retry


def phases_schema() -> dict[str, Any]:
    nested = (Agent, GitProof, Phase, Role, ScopeLimits, InputDecl, Validation, Retry)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wfc workflow (phases)",
        **shape_schema(PhasesFile),
        "definitions": {kind.__name__: shape_schema(kind) for kind in nested},
    }
