"""What is worked out when it is first asked for, and remembered."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache, partial
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")
_OF_TEXTS: list[_lru_cache_wrapper[Any]] = []
_OF_FILES: list[_lru_cache_wrapper[Any]] = []


def remembered(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """`functools.lru_cache`, but `forget` empties it. For what follows from a text: the same text may come again."""
    return partial(_remembered, _OF_TEXTS, most)


def remembered_of_files(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """The same for what is known of one reading of a file, or of a part of it: it never comes again, and takes much."""
    return partial(_remembered, _OF_FILES, most)


def _remembered(
    memories: list[_lru_cache_wrapper[Any]], most: int, work: Callable[..., T]
) -> _lru_cache_wrapper[T]:
    memory = lru_cache(maxsize=most)(work)
    memories.append(memory)
    return memory


def forget_files() -> None:
    """Let go of every file that was worked on. For processes that live long: a large file takes 100 MB."""
    for memory in _OF_FILES:
        memory.cache_clear()


def forget() -> None:
    """Let go of files, and of their texts."""
    forget_files()
    for memory in _OF_TEXTS:
        memory.cache_clear()


class lazy(Generic[T]):  # noqa: N801  # a decorator, named as one
    """`functools.cached_property` without the lock that Python has around it before 3.12.

    A file has hundreds of them, and most work out less than what the lock costs.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, thing: None, owner: type) -> Self: ...
    @overload
    def __get__(self, thing: object, owner: type) -> T: ...
    def __get__(self, thing: object | None, owner: type) -> Self | T:
        if thing is None:
            return self
        value = thing.__dict__[self._name] = self._work_out(thing)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, put off until the first use: most patterns are for what is rarely met, and take long to compile."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._made_of = (text, flags)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(re.compile(*self._made_of), name)
        return found
