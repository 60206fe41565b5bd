"""The old spelling of a prompt: `type: prompt` and `type: confirm` in one step."""

from __future__ import annotations

from wfc.language.steps.prompt import PROMPT_KINDS
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Scalar


def prompt_pair(node: Mapping) -> tuple[Entry, Entry] | None:
    """The two `type` entries of an old prompt (the kind of step first), or None if it is not one."""
    types = [entry for entry in node.entries if entry.key.text == "type"]
    if len(types) != 2 or node.entry("prompt_type") is not None:
        return None
    step = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text == "prompt"]
    kind = [entry for entry in types if isinstance(entry.value, Scalar) and entry.value.text in PROMPT_KINDS]
    return (step[0], kind[0]) if len(step) == 1 and len(kind) == 1 else None


def split_prompt_pair(node: Mapping) -> list[Entry]:
    """The entries with the second `type` of an old prompt read as `prompt_type`."""
    pair = prompt_pair(node)
    if pair is None:
        return node.entries
    _, kind = pair
    renamed = Entry(replace(kind.key, text="prompt_type", value="prompt_type"), kind.value)
    return [renamed if entry is kind else entry for entry in node.entries]
