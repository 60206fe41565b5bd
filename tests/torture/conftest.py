from __future__ import annotations

from tests.runtime.conftest import file_box

__all__ = ["file_box"]
