"""Coding agents as programs: one file per program that knows its command line and reads what it prints.

SECURITY. Which program runs, with which arguments, environment and rights, comes from the operator's file
(`settings.py`), never from a workflow or a project. What a program prints is data: `base.Outcome` contains only proven
facts.
"""

from __future__ import annotations

from wfc_runtime.agents.base import Adapter
from wfc_runtime.agents.claude import Claude
from wfc_runtime.agents.codex import Codex
from wfc_runtime.agents.command import Command
from wfc_runtime.agents.gemini import Gemini
from wfc_runtime.agents.opencode import OpenCode

ADAPTERS: dict[str, Adapter] = {one.name: one for one in (Claude(), Codex(), Gemini(), OpenCode(), Command())}
