"""IR -> Python source, one module per workflow."""

from wfc.emit.header import FORMAT, Header, digest, read_header, with_header
from wfc.emit.module import emit_body

__all__ = ["FORMAT", "Header", "digest", "emit_body", "read_header", "with_header"]
