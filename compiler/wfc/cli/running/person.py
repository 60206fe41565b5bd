"""The person in front of the terminal plays the agent: each kind of action is asked in its own way."""

from __future__ import annotations

import json
from typing import Any

from wfc.author.answers import fill, misfit
from wfc.author.driver import Asked
from wfc.cli.running.console import Console, LeftError
from wfc.cli.running.inputs import parse_value

_HELP = (
    "end with an empty line  ·  `:e` opens your editor  ·  `:error why` if it can't be done  ·  "
    "`:schema`  ·  `:q` goes on another time"
)
_CUT = "# ---- the result stands below this line ----\n"


class Person:
    """Asks until the answer fits."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def answer(self, asked: Asked) -> Any:
        reader = {"confirm": self._confirm, "choice": self._choice, "text": self._text, "info": self._info}
        read = reader.get(asked.parameters.get("prompt_type", ""), self._result)
        while True:
            result = read(asked)
            wrong = misfit(result, asked.schema)
            if not wrong:
                return result
            self._console.say(f"that does not fit: {wrong}", "red", indent=4)

    def agrees(self, question: str) -> bool:
        """A yes or a no, never taken from silence."""
        while True:
            answer = self._line(question).strip().lower()
            if answer in ("y", "yes", "n", "no"):
                return answer[0] == "y"
            self._console.say("say y or n", "red", indent=4)

    # -- prompts -----------------------------------------------------------------

    def _confirm(self, asked: Asked) -> Any:
        return {"confirmed": self.agrees("[y/n]")}

    def _choice(self, asked: Asked) -> Any:
        options = [str(option) for option in asked.parameters.get("options", ())]
        for number, option in enumerate(options, 1):
            self._console.say(f"{number}. {option}", indent=6)
        while True:
            answer = self._line("number or name:").strip()
            if answer in options:
                return {"selected": answer}
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return {"selected": options[int(answer) - 1]}
            near = [option for option in options if option.lower().startswith(answer.lower())]
            if answer and len(near) == 1:
                return {"selected": near[0]}
            self._console.say(
                f"`{answer}` is none of them: say 1 to {len(options)}, or the name", "red", indent=4
            )

    def _text(self, asked: Asked) -> Any:
        return {"input": self._line(">", asked.is_secret)}

    def _info(self, asked: Asked) -> Any:
        self._line("Enter goes on")
        return {"acknowledged": True}

    def _line(self, prompt: str, hidden: bool = False) -> str:
        line = self._console.ask(prompt, hidden)
        if line.strip() == ":q":
            raise LeftError
        return line

    # -- results -----------------------------------------------------------------

    def _result(self, asked: Asked) -> Any:
        """What came of a command, a tool or a delegated task: typed, pasted, or written in an editor."""
        self._console.say(f"its result, {_wanted(asked)}:", indent=4)
        self._console.say(_HELP, indent=4)
        lines: list[str] = []
        while True:
            line = self._console.ask(">" if not lines else "…", asked.is_secret)
            match line.strip().partition(" "):
                case (":q", _, _):
                    raise LeftError
                case (":e", _, _):
                    return self._edited(asked, "\n".join(lines))
                case (":schema", _, _):
                    self._console.say(json.dumps(asked.schema, indent=2, ensure_ascii=False), indent=6)
                case (":error", _, why):
                    return {"error": why or "the person who works the run could not do it"}
                case ("", _, _) if not _is_open(lines):
                    return _meaning(asked, "\n".join(lines))
                case _:
                    lines.append(line)

    def _edited(self, asked: Asked, begun: str) -> Any:
        about = json.dumps(asked.action, indent=2, ensure_ascii=False).replace("\n", "\n# ")
        text = self._console.edit(f"# {about}\n{_CUT}{begun or _skeleton(asked)}", ".yaml")
        if text is None:
            return self._result(asked)
        return _meaning(asked, text.partition(_CUT)[2].strip("\n"))


def _wanted(asked: Asked) -> str:
    if asked.kind == "shell":
        return "the output as text, or YAML with stdout, stderr and exit_code"
    return "as text" if _takes_text(asked.schema) else "as YAML or JSON"


def _takes_text(schema: Any) -> bool:
    """Whether bare text is the natural way to write the result."""
    if not isinstance(schema, dict):
        return False
    required = schema.get("required") or [""]
    inner = schema.get("properties", {}).get(required[0], {})
    return schema.get("type") == "string" or (len(required) == 1 and inner.get("type") == "string")


def _meaning(asked: Asked, text: str) -> Any:
    """Typed text as a result. Text that is an object with the wanted keys is that object."""
    value = parse_value(text)
    is_text = asked.kind == "shell" or _takes_text(asked.schema)
    if is_text and not (isinstance(value, dict) and _has_known_keys(value, asked.schema)):
        value = text
    return fill(asked.kind, asked.schema, value)


def _has_known_keys(value: dict[str, Any], schema: Any) -> bool:
    known = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return any(key in known or key == "error" for key in value)


def _is_open(lines: list[str]) -> bool:
    """Whether what was pasted so far is the beginning of a JSON text: empty lines inside it do not end it."""
    text = "\n".join(lines).strip()
    if text[:1] not in ("{", "[") or lines[-1:] == [""]:
        return False
    try:
        json.loads(text)
    except ValueError as error:
        return isinstance(error, json.JSONDecodeError) and error.pos >= len(text)
    return False


def _skeleton(asked: Asked) -> str:
    """What an editor begins with: the keys that the result needs."""
    schema = asked.schema
    if _takes_text(schema) or not isinstance(schema, dict):
        return ""
    return "".join(f"{key}:\n" for key in schema.get("required", ()))
