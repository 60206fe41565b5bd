from __future__ import annotations

from tests.runtime.conftest import box

__all__ = ["box"]
