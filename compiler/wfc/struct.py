"""Value classes declared like `dataclasses`, for the modules that `wfc check` imports.

Which kind of class holds values:

- `@struct` in a module that `wfc check` imports;
- `@dataclass(frozen=True, slots=True)` everywhere else;
- `NamedTuple` only for a value that is unpacked or compared as a tuple.

`dataclasses` generates and compiles up to six methods per class at import time: half a millisecond for a frozen class.
Here `__init__` is compiled when the first object is made, and all classes share the other methods. A check of one small
file imports 132 structs and takes 175 ms of CPU time; with frozen data classes in their place it takes 245 ms, with
mutable ones 222 ms (Python 3.11, median of seven). Users wait for that at each save and each commit.
`tests/unit/test_structs.py` holds the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, field
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def struct(cls: type[T], /) -> type[T]: ...
@overload
def struct(*, frozen: bool = ..., eq: bool = ..., slots: bool = ...) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def struct(cls: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False) -> Any:
    """`dataclasses.dataclass`, except that only the type checker enforces `frozen`.

    `field` supports `default_factory` and nothing else. A class with a `cached_property` can't have `slots`: the
    value is kept in the `__dict__` of the object.
    """

    def make(cls: Any) -> Any:
        # Annotations are strings: every module of the compiler has `from __future__ import annotations`.
        own = [name for name, kind in vars(cls).get("__annotations__", {}).items() if kind[:8] != "ClassVar"]
        inherited = getattr(cls, "__match_args__", ())
        names = (*inherited, *(name for name in own if name not in inherited))
        setattr(cls, "__match_args__", names)  # noqa: B010  # mypy knows the plain form as something else
        # Defaults are kept apart, since a class with slots can't have them as attributes.
        cls._defaults = getattr(cls, "_defaults", {}) | {k: vars(cls)[k] for k in own if k in vars(cls)}
        cls.__init__ = _first_init
        if "__repr__" not in vars(cls):
            cls.__repr__ = _repr
        if eq:
            cls._values = attrgetter(*names)
            cls.__eq__ = _eq
            cls.__hash__ = _hash if frozen else None
        return _with_slots(cls, tuple(own)) if slots else cls

    return make if cls is None else make(cls)


def replace(thing: T, /, **changes: Any) -> T:
    """A copy with other values in some of its fields, like `dataclasses.replace`."""
    names = type(thing).__match_args__  # type: ignore[attr-defined]  # every struct has it
    return type(thing)(**{name: getattr(thing, name) for name in names} | changes)


def _with_slots(cls: Any, own: tuple[str, ...]) -> Any:
    """A second class with the same body: `__slots__` must be there when a class is made, and a slot can't have the
    name of a class attribute, as a default would be."""
    kept = {k: value for k, value in vars(cls).items() if k not in (*own, "__dict__", "__weakref__")}
    return type(cls)(cls.__name__, cls.__bases__, kept | {"__slots__": own, "__qualname__": cls.__qualname__})


def _first_init(self: Any, *given: Any, **named: Any) -> None:
    # The class that defines the fields, which may be a base class of the object's own.
    cls = next(cls for cls in type(self).__mro__ if vars(cls).get("__init__") is _first_init)
    init = _init_of(cls)
    setattr(cls, "__init__", init)  # noqa: B010
    init(self, *given, **named)


def _init_of(cls: Any) -> Any:
    scope: dict[str, Any] = {}
    parameters, lines = ["self"], []
    for name in cls.__match_args__:
        value = name
        if name in cls._defaults:
            default = scope[f"default_{name}"] = cls._defaults[name]
            if isinstance(default, Field):
                scope[f"make_{name}"] = default.default_factory
                # The default stands for "not given", so that every object gets a list or dict of its own.
                value = f"make_{name}() if {name} is default_{name} else {name}"
        parameters.append(f"{name}=default_{name}" if name in cls._defaults else name)
        lines.append(f"    self.{name} = {value}\n")
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines)}", scope)
    return scope["__init__"]


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> bool:
    return self._values(self) == self._values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._values(self))
