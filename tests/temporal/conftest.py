from __future__ import annotations

from tests.runtime.conftest import file_box, temporal_box

__all__ = ["file_box", "temporal_box"]
