"""An agent that knows nothing of any workflow: it does what each reply says, with answers from a script."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Reply = dict[str, Any]
CallTool = Callable[[str, dict[str, Any]], Awaitable[Reply]]

_CALL = re.compile(r"(\w+)\(workflow_id=[^)]*\)")
_ARGUMENT = re.compile(r'(\w+)="([^"]*)"')
_ENDED = ("completed", "failed", "cancelled")
_WIDTH = 66


@dataclass(frozen=True)
class Agent:
    """Follows `next` from reply to reply. A sub-agent is another one that got a prompt and nothing else."""

    call: CallTool
    script: Mapping[str, Any]
    """What it finds out, writes or hears from the person, by step."""
    indent: str = "  "

    async def follow(self, reply: Reply) -> Reply:
        """Until the run has ended."""
        while reply["status"] not in _ENDED:
            action = reply["action"]
            for child in action["parameters"].get("children", ()):
                self._say(action, f"a sub-agent for: {child['item']}")
                sub_agent = Agent(self.call, self.script, self.indent + "    ")
                await sub_agent.work(child["prompt"])
            tool, arguments = _parsed(reply["next"])
            if "step_id" in arguments:
                arguments["result"] = self.script[arguments["step_id"]]
                self._say(action, json.dumps(arguments["result"]))
            reply = await self.call(tool, arguments)
        return reply

    async def work(self, prompt: str) -> Reply:
        """What a sub-agent does: the first call that its prompt names, and then what the replies say."""
        tool, arguments = _parsed(prompt)
        return await self.follow(await self.call(tool, arguments))

    def _say(self, action: Reply, what: str) -> None:
        shown = what if len(what) <= _WIDTH else f"{what[:_WIDTH]}..."
        print(f"{self.indent}{action['step_id']} ({action['type']}): {shown}", flush=True)


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """The call that a text tells to make."""
    found = _CALL.search(text)
    if found is None:
        raise ValueError(f"nothing to call in {text!r}")
    return found[1], dict(_ARGUMENT.findall(found[0]))
