"""Steps of every type with every modifier, right for the place they stand in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.property.actions import FURTHER, SERVED, UNANSWERED, UNMODELLED, Actions, Step
from tests.property.expressions import (
    ANY,
    BOOL,
    LIST,
    TEXT,
    Kinds,
    Sight,
    condition,
    list_of_texts,
    lone,
    text,
)
from tests.property.inputs import sample
from tests.property.values import FIELD_STEMS, STEMS, WORDS, Chooser

WAITING = ("shell", "mcp_call", "delegate", "prompt", "foreach", "call", *SERVED, *UNMODELLED)
"""Steps that may have a deadline."""


@dataclass
class Jump:
    """A jump whose target is chosen when all steps that it could go to are known."""

    step: Step
    key: str
    lists: list[list[Step]]
    """Those that it may go to, the outermost first."""
    after: list[int]
    """Where in each of them it stands itself."""

    def names(self) -> list[str]:
        """Recovering from a failure goes forward: going back would need a bound."""
        forward = self.key != "target"
        return [
            step["id"]
            for steps, place in zip(self.lists, self.after, strict=True)
            for step in (steps[place + 1 :] if forward else steps)
            if step is not self.step
        ]


@dataclass
class Writer(Actions):
    """Writes the steps of one scope."""

    choose: Chooser
    ids: set[str]
    tasks: dict[str, dict[str, Any]]
    fields: set[str] = field(default_factory=set)
    lists: list[list[Step]] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    counter: str | None = None
    returns: bool = False
    """Whether steps in the middle may return."""
    served: int = 12
    """One step in so many is one that a server may do itself."""
    whole: bool = False
    """Whether to use the parts of the language that `tests.model` does not know."""
    loops: int = 0
    """How many loops it is writing inside each other."""

    def block(self, sight: Sight, depth: int, *, most: int = 4, first: Step | None = None) -> list[Step]:
        """One to `most` steps, after the first one if that is given."""
        made: list[Step] = [first] if first else []
        self.lists.append(made)
        for _ in range(self.choose.number(1, most)):
            made.append(self._step(sight, depth))
        self.lists.pop()
        return made

    def resolve_jumps(self) -> None:
        for jump in self.jumps:
            names = jump.names()
            name = self.choose.pick(names) if names else None
            if jump.key == "on_error":
                jump.step["on_error"] = {"goto": name} if name else "continue"
            elif name:
                jump.step[jump.key] = name
            elif jump.key == "target":  # nowhere to go: a pause will do
                del jump.step["max_iterations"]
                jump.step |= {"type": "wait", "duration_seconds": 1}

    # -- one step ---------------------------------------------------------------

    def _step(self, sight: Sight, depth: int) -> Step:
        kinds = ["shell", "mcp_call", "prompt", "wait", "delegate", "set_state", "call"]
        kinds += ["foreach"] if self.tasks else []
        kinds += ["condition", "condition", "while", "parallel"] if depth else []
        kinds += ["break", "continue"] if self.loops else []
        kinds += ["goto"] if any(self.lists) else []
        kinds += ["return"] if self.returns and len(self.lists) > 1 else []
        kinds += ["fail", "change", "say", *(["each"] if depth else [])] if self.whole else []
        served = (*SERVED, *UNMODELLED, *UNMODELLED) if self.whole else SERVED
        kind = self.choose.pick(served) if self.choose.chance(self.served) else self.choose.pick(kinds)
        step: Step = {"id": self.choose.fresh(STEMS, self.ids), "type": kind}
        reads: set[str] = set()
        may_be_skipped = kind != "return" and self._when(
            step, sight, reads, always=kind in ("break", "continue", "goto", "fail")
        )
        inner = sight.inside() if may_be_skipped else sight
        write = self._served if kind in served else getattr(self, f"_{kind}")
        kept = write(step, inner, reads, depth)
        if self.whole:
            self._further(step, kind)
        if self.choose.chance(4):
            step["description"] = self.choose.prose()
        if kept is not None:
            self._keep(step, inner, kept, sure=not self._failure(step, kind))
        if reads:
            step["needs_state"] = sorted(reads)
        return step

    def _further(self, step: Step, kind: str) -> None:
        """Fields that the model does not know."""
        if kind in FURTHER and (kind == "foreach" or self.choose.chance()):
            step |= self.choose.pick(FURTHER[kind])
        if kind == "change":
            step |= self.choose.pick(({}, {"failure_message": "x"}, {"error_changes": step["changes"]}))
        if kind in UNANSWERED:
            return
        written = [{"path": [self.choose.fresh(FIELD_STEMS, self.fields)], "value": 1}]
        names = ["changes"]
        names += ["error_changes", "failure_message"] if kind != "wait" else []
        names += ["fallback"] if kind not in ("wait", "prompt", "foreach", "call") else []
        if self.choose.chance():
            name = self.choose.pick(names)
            step[name] = "x" if name in ("fallback", "failure_message") else written

    def _when(self, step: Step, sight: Sight, reads: set[str], always: bool) -> bool:
        if not always and not self.choose.chance(4):
            return False
        step["when"] = self._use(condition(self.choose, sight), reads)
        return True

    def _keep(self, step: Step, sight: Sight, kinds: Kinds, sure: bool) -> None:
        if not kinds or not self.choose.chance():
            return
        step["output_to"] = self.choose.fresh(FIELD_STEMS, self.fields)
        if step["type"] not in ("wait", "condition") and self.choose.chance(6):
            step["secret"] = True
        if sure:
            sight.fields[step["output_to"]] = kinds

    def _failure(self, step: Step, kind: str) -> bool:
        """What to do when it fails; whether the flow goes on then without its result."""
        if kind not in ("prompt", "wait") and self.choose.chance(4):
            step["retry"] = {"max_attempts": self.choose.number(1, 5)}
            if self.choose.chance():
                step["retry"] |= {"delay_seconds": 2, "backoff": 1.5}
        if kind in WAITING and self.choose.chance(6):
            step["deadline"] = self.choose.pick((3600, 7.5))
        if kind != "wait" and self.choose.chance(4):
            step["on_error"] = self.choose.pick(("fail", "continue", "defer"))
            if self.choose.chance():
                self._jump(step, "on_error")
            return True
        return False

    # -- values and children ----------------------------------------------------

    def _set_state(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        updates: dict[str, Any] = {}
        kinds: dict[str, str] = {}
        for _ in range(self.choose.number(1, 3)):
            name = self.choose.fresh(FIELD_STEMS, self.fields)
            siblings = {key: kind for key, kind in kinds.items() if key not in ("state", "inputs")}
            inner = Sight(sight.inputs, sight.fields, {**sight.names, **siblings})
            match self.choose.pick(("lone", "text", "literal", "list")):
                case "lone":
                    expression, kinds[name] = lone(self.choose, inner)
                    updates[name] = self._use(expression, reads)
                case "text":
                    updates[name], kinds[name] = self._use(text(self.choose, inner), reads), TEXT
                case "list":
                    updates[name], kinds[name] = self._use(list_of_texts(self.choose, inner), reads), LIST
                case _:
                    updates[name] = self.choose.json()
        if self.counter and self.choose.chance():
            updates[self.counter] = f"{{{{ state.{self.counter} + 1 }}}}"
            reads.add(self.counter)
        step["updates"] = updates
        sight.fields |= {name: (("", kind),) for name, kind in kinds.items() if name != self.counter}
        return (("", ANY),)

    def _foreach(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        task = step["task"] = self.choose.pick(sorted(self.tasks))
        declared = self.tasks[task]["inputs"]
        needed = {name: sample(decl) for name, decl in declared.items() if decl.get("required")}
        by_name = len(declared) > 1 and self.choose.chance()
        if by_name:
            step["items"] = [{**needed, "target": word} for word in self.choose.some(WORDS, 0, 3)]
        elif self.choose.chance(4):
            step["items"] = self.choose.some(WORDS, 0, 3)
        else:
            step["items"] = self._use(list_of_texts(self.choose, sight), reads)
        step["agent"] = self.choose.pick(("@task", "@reviewer", None))
        if self.choose.chance():
            step["sequential"] = self.choose.chance()
        if self.choose.chance():
            step["max_items"] = self.choose.pick((50, 50, 1))
        if self.whole and self.choose.chance(6):
            step["max_parallel"] = self.choose.pick((1, 2, 50))
        self._wishes(step)
        if not by_name and (len(declared) > 1 or self.choose.chance(3)):
            risky = "{{ 'n' ~ 10 / index }}" if self.choose.chance(6) else "{{ item ~ index }}"
            step["with"] = {**needed, "target": risky}
        return (("", LIST),)

    def _call(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["workflow"] = "helper"
        step["with"] = {"subject": self._use(text(self.choose, sight), reads)}
        if self.choose.chance(4):
            step["only_declared"] = True
            step["with"]["no-such-input"] = self.choose.json()
        if self.choose.chance(4):
            step["max_depth"] = self.choose.pick((1, 2, 3))
        if self.choose.chance(4):
            step["facts"] = self.choose.pick((["steps"], ["code", "no-such-fact", "steps"]))
        if self.choose.chance(4):
            step["timeout"] = self.choose.pick((5, 60, 2.5, "{{ 2 + 3 }}", "{{ '7' ~ '.5' }}"))
        return (("", ANY),)

    # -- control ----------------------------------------------------------------

    def _condition(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["if"] = self._use(condition(self.choose, sight), reads)
        step["then"] = self.block(sight.inside(), depth - 1, most=3)
        if self.choose.chance():
            step["else"] = self.block(sight.inside(), depth - 1, most=2)
        return (("", BOOL),)

    def _while(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step["if"] = self._use(condition(self.choose, sight), reads)
        step["max_iterations"] = self.choose.number(1, 3)
        self.loops += 1
        step["steps"] = self.block(sight.inside(), depth - 1, most=3)
        self.loops -= 1
        if self.choose.chance():
            step["on_error"] = "continue"

    def _parallel(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        names: set[str] = set()
        outer, self.counter = self.counter, None  # no two branches write the same field
        step["branches"] = {
            self.choose.fresh(STEMS, names): self.block(sight.inside(), depth - 1, most=2, first=self._gate())
            for _ in range(self.choose.number(1, 3))
        }
        self.counter = outer

    def _gate(self) -> Step | None:
        """What branches do before the first of them has to wait happens in no order that anybody promises: mostly
        they wait at once, so that what happens then is clear."""
        if self.choose.chance(3):
            return None
        made = {"id": self.choose.fresh(STEMS, self.ids), "type": "prompt"}
        return {**made, "prompt_type": "info", "message": "Begin."}

    def _break(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        """Nothing more to say."""

    _continue = _break

    def _return(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step["value"] = {
            "text": self._use(text(self.choose, sight), reads),
            "list": self._use(list_of_texts(self.choose, sight), reads),
        }
        self._failure(step, "return")

    def _change(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        field_ = self.choose.fresh(FIELD_STEMS, self.fields)
        value = self._use(text(self.choose, sight), reads)
        step["changes"] = [{"path": [field_, "a"], "operation": "set", "value": value}]
        self._failure(step, "change")

    def _say(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step["message"] = self._use(text(self.choose, sight), reads)
        if self.choose.chance():
            step |= {"message_type": "info", "format": "text"}
        self._failure(step, "say")

    def _each(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step["items"] = self._use(list_of_texts(self.choose, sight), reads)
        if self.choose.chance():
            step |= {"as": "one", "index_as": "place", "max_items": 50}
        if self.choose.chance():
            names = ("item_to", "index_to")
            step |= {name: self.choose.fresh(FIELD_STEMS, self.fields) for name in names}
        self.loops += 1
        step["steps"] = self.block(sight.inside(), depth - 1, most=2)
        self.loops -= 1
        if self.choose.chance():
            step["on_error"] = "continue"

    def _fail(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step |= {
            "code": self.choose.pick(("rejected", "too_late")),
            "message": self._use(text(self.choose, sight), reads),
        }

    def _goto(self, step: Step, sight: Sight, reads: set[str], depth: int) -> None:
        step["max_iterations"] = self.choose.number(1, 3)
        self._jump(step, "target")
        if self.choose.chance():
            self._jump(step, "else")

    def _jump(self, step: Step, key: str) -> None:
        self.jumps.append(Jump(step, key, list(self.lists), [len(steps) for steps in self.lists]))
