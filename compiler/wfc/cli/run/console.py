"""The terminal of `wfc run`: prints actions and reads the results that the user types."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfc.author.driver import Asked
from wfc.cli.run.inputs import parse_value
from wfc.render.style import printable, style_for
from wfc.testfiles.questions import misfit
from wfc.testfiles.scripts import fill

# The height of a usual terminal.
_SHOWN = 24
"""Lines."""


class LeftError(Exception):
    """The user wants to continue the run later."""


class Console:
    def __init__(self) -> None:
        self.style = style_for(sys.stderr)
        self.is_live = sys.stderr.isatty()
        self._has_countdown = False
        self.actions = 0
        """The number of lines that have been shown."""

    def say(self, text: str = "", *styles: str, indent: int = 0) -> None:
        """Print text. Control characters in texts of workflows and agents are escaped, since they could control the
        terminal."""
        self.clear()
        for line in text.split("\n"):
            shown = printable(line)
            print(" " * indent + (self.style.paint(shown, *styles) if styles else shown), file=sys.stderr)

    def show(self, text: str, where_more: str = "") -> None:
        """Print a text of a run, cut to a readable length."""
        lines = text.rstrip("\n").split("\n")
        self.say("\n".join(lines[:_SHOWN]), indent=4)
        if len(lines) > _SHOWN:
            self.say(f"... {len(lines) - _SHOWN} more lines{where_more}", "blue", indent=4)

    def ask(self, prompt: str, hidden: bool = False) -> str:
        """Read one line, without its line break. `hidden`: the input is not echoed."""
        self.clear()
        shown = f"    {self.style.paint(prompt, 'cyan')} "
        if hidden:
            try:
                return getpass.getpass(shown, sys.stderr)
            except EOFError:
                raise LeftError from None
        sys.stderr.write(shown)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            raise LeftError
        return line.rstrip("\r\n")

    def countdown(self, text: str) -> None:
        """Print a line that the next one overwrites."""
        sys.stderr.write(f"\r\x1b[2K    {printable(text.replace(chr(10), ' '))}")
        sys.stderr.flush()
        self._has_countdown = True

    def clear(self) -> None:
        if self._has_countdown:
            sys.stderr.write("\r\x1b[2K")
            self._has_countdown = False

    def edit(self, text: str, ending: str) -> str | None:
        """Open a text in the user's editor and return the edited text; None if the editor failed."""
        # In the order that git and other tools use.
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        # Readable by the owner only, which `mkstemp` ensures: the text may be confidential.
        handle, name = tempfile.mkstemp(prefix="wfc-", suffix=ending)
        path = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            # Standard output may be redirected to a file, so the editor gets the terminal of standard error.
            done = subprocess.run([*shlex.split(editor), name], stdout=sys.stderr, check=False)
            if done.returncode != 0:
                self.say(f"`{editor}` ended with exit code {done.returncode}", "red", indent=4)
                return None
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            self.say(f"can't use the editor `{editor}`: {error}", "red", indent=4)
            return None
        finally:
            path.unlink(missing_ok=True)


_HELP = (
    "end with an empty line  ·  `:e` opens your editor  ·  `:error why` if it can't be done  ·  `:schema`  ·  "
    "`:q` to continue later"
)
_CUT = "# ---- write the result below this line ----\n"


_BACK = ":b"


@dataclass(frozen=True, slots=True)
class Offer:
    """An option as a person sees it."""

    value: str
    label: str
    description: str = ""

    @classmethod
    def of(cls, option: Any) -> Offer:
        """An option of an action: a text, or an object where the author has given more than the value."""
        if not isinstance(option, dict):
            return cls(str(option), str(option))
        value = str(option["value"])
        return cls(value, str(option.get("label", value)), str(option.get("description", "")))


class Person:
    """Ask until the answer is valid."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def answer(self, asked: Asked) -> Any:
        reader = {
            "confirm": self._confirm,
            "choice": self._choice,
            "questions": self._questions,
            "text": self._text,
            "info": self._info,
        }
        read = reader.get(asked.parameters.get("prompt_type", ""), self._result)
        while True:
            result = read(asked)
            wrong = misfit(result, asked.schema)
            if not wrong:
                return result
            self._console.say(f"invalid: {wrong}", "red", indent=4)

    def agrees(self, question: str) -> bool:
        """Ask for yes or no. An empty line is neither."""
        while True:
            answer = self._line(question).strip().lower()
            if answer in ("y", "yes", "n", "no"):
                return answer[0] == "y"
            self._console.say("answer y or n", "red", indent=4)

    # -- prompts -----------------------------------------------------------------

    def _confirm(self, asked: Asked) -> Any:
        return {"confirmed": self.agrees("[y/n]")}

    def _choice(self, asked: Asked) -> Any:
        options = [Offer.of(one) for one in asked.parameters.get("options", ())]
        self._offer(options)
        return {"selected": self._picked(options, "number or name:")}

    def _offer(self, options: list[Offer], default: str | None = None) -> None:
        for number, option in enumerate(options, 1):
            mark = "  (default)" if option.value == default else ""
            self._console.say(f"{number}. {option.label}{mark}", indent=6)
            if option.description:
                self._console.say(option.description, indent=9)

    def _picked(self, options: list[Offer], prompt: str, spare: tuple[str, ...] = ()) -> str:
        """The value of the option that the user picks, or one of the `spare` inputs."""
        while True:
            answer = self._line(prompt).strip()
            if answer in spare:
                return answer
            for option in options:
                if answer in (option.value, option.label):
                    return option.value
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return options[int(answer) - 1].value
            near = [one for one in options if one.label.lower().startswith(answer.lower())]
            if answer and len(near) == 1:
                return near[0].value
            self._console.say(
                f"`{answer}` is not an option; enter 1 to {len(options)}, or the name", "red", indent=4
            )

    def _questions(self, asked: Asked) -> Any:
        """Ask one question after the other; `:b` goes back to the one before."""
        questions = list(asked.parameters.get("questions", ()))
        answers: dict[str, str] = {}
        number = 0
        while number < len(questions):
            question = questions[number]
            name, default = question["id"], answers.get(question["id"], question.get("default"))
            self._console.say(f"{number + 1} of {len(questions)}: {question['text']}", "bold", indent=4)
            given = self._one(question, default)
            if given == _BACK:
                number = max(0, number - 1)
                continue
            if given or not question.get("required", True) or default is not None:
                answers.pop(name, None)
                answers |= {name: given} if given else {name: default} if default is not None else {}
                number += 1
            else:
                self._console.say("this needs an answer; `:b` goes back", "red", indent=4)
        return answers

    def _one(self, question: dict[str, Any], default: str | None) -> str:
        """The answer to one question; empty if the user gives none."""
        options = [Offer.of(one) for one in question.get("choices", ())]
        if options:
            self._offer(options, default)
            is_optional = default is not None or not question.get("required", True)
            return self._picked(options, "number or name:", (_BACK, "") if is_optional else (_BACK,))
        return self._line(f"[{default}] >" if default else ">").strip()

    def _text(self, asked: Asked) -> Any:
        return {"input": self._line(">", asked.is_secret)}

    def _info(self, asked: Asked) -> Any:
        self._line("Press Enter to continue")
        return {"acknowledged": True}

    def _line(self, prompt: str, hidden: bool = False) -> str:
        line = self._console.ask(prompt, hidden)
        if line.strip() == ":q":
            raise LeftError
        return line

    # -- results -----------------------------------------------------------------

    def _result(self, asked: Asked) -> Any:
        """Read the result of a command, a tool or a delegated task: typed, pasted, or written in an editor."""
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
                    return {"error": why or "the user could not do it"}
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
    """Whether a result may be written as bare text."""
    if not isinstance(schema, dict):
        return False
    required = schema.get("required") or [""]
    inner = schema.get("properties", {}).get(required[0], {})
    return schema.get("type") == "string" or (len(required) == 1 and inner.get("type") == "string")


def _meaning(asked: Asked, text: str) -> Any:
    """Convert typed text to a result. Text that parses as an object with the required keys is that object."""
    value = parse_value(text)
    is_text = asked.kind == "shell" or _takes_text(asked.schema)
    if is_text and not (isinstance(value, dict) and _has_known_keys(value, asked.schema)):
        value = text
    return fill(asked.kind, asked.schema, value)


def _has_known_keys(value: dict[str, Any], schema: Any) -> bool:
    known = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return any(key in known or key == "error" for key in value)


def _is_open(lines: list[str]) -> bool:
    """Whether the text so far is incomplete JSON, in which an empty line does not end the input."""
    text = "\n".join(lines).strip()
    if text[:1] not in ("{", "[") or lines[-1:] == [""]:
        return False
    try:
        json.loads(text)
    except ValueError as error:
        return isinstance(error, json.JSONDecodeError) and error.pos >= len(text)
    return False


def _skeleton(asked: Asked) -> str:
    """The initial text for an editor: the keys of the result."""
    schema = asked.schema
    if _takes_text(schema) or not isinstance(schema, dict):
        return ""
    return "".join(f"{key}:\n" for key in schema.get("required", ()))
