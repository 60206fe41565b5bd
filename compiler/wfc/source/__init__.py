"""From bytes to located nodes: the only part of the compiler that knows YAML's syntax."""

from wfc.source.comments import iter_comments
from wfc.source.limits import YamlLimits
from wfc.source.nodes import Document, Entry, Mapping, Node, Problem, Scalar, Sequence
from wfc.source.parser import parse_document
from wfc.source.reader import read_source
from wfc.source.text import Source, Span

__all__ = [
    "Document",
    "Entry",
    "Mapping",
    "Node",
    "Problem",
    "Scalar",
    "Sequence",
    "Source",
    "Span",
    "YamlLimits",
    "iter_comments",
    "parse_document",
    "read_source",
]
