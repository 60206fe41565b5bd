"""Attributes that are worked out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


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
        value = vars(thing)[self._name] = self._work_out(thing)
        return value
