"""Caches for values that are computed on first use: functions, properties, and compiled patterns.

The compiler uses these instead of `functools`, so that a long-lived process can empty all caches of functions at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache, partial
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")
# Two lists, because texts recur between checks of a language server and parsed files do not.
_OF_TEXTS: list[_lru_cache_wrapper[Any]] = []
_OF_FILES: list[_lru_cache_wrapper[Any]] = []


def cached(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """`functools.lru_cache` that `clear_caches` empties. For results that depend on a text only: texts recur."""
    return partial(_register, _OF_TEXTS, most)


def cached_per_file(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """The same for results that belong to one parsed file: they never recur once the file changes, and are large."""
    return partial(_register, _OF_FILES, most)


def _register(
    caches: list[_lru_cache_wrapper[Any]], most: int, work: Callable[..., T]
) -> _lru_cache_wrapper[T]:
    cache = lru_cache(maxsize=most)(work)
    caches.append(cache)
    return cache


def clear_file_caches() -> None:
    """Drop everything cached per file. For long-lived processes: a large file takes 100 MB."""
    for cache in _OF_FILES:
        cache.cache_clear()


def clear_caches() -> None:
    """Drop everything cached, per file and per text."""
    clear_file_caches()
    for cache in _OF_TEXTS:
        cache.cache_clear()


class cached_property(Generic[T]):  # noqa: N801  # a decorator, named as one
    """`functools.cached_property` without the lock that Python before 3.12 takes.

    A file has hundreds of these properties, and computing most of them costs less than the lock.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, thing: None, owner: type) -> Self: ...
    @overload
    def __get__(self, thing: object, owner: type) -> T: ...
    def __get__(self, thing: object | None, owner: type) -> Self | T:
        if thing is None:
            return self
        # An instance attribute of the same name hides this descriptor from the next access on.
        value = thing.__dict__[self._name] = self._compute(thing)
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, deferred to the first use: most patterns are for rare input, and compiling them is slow."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._made_of = (text, flags)

    def __getattr__(self, name: str) -> Any:
        # Kept under the name of the method, so that the next call goes straight to it.
        found = self.__dict__[name] = getattr(re.compile(*self._made_of), name)
        return found
