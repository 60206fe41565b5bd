"""Read YAML text into nodes that know their position. No other part of the compiler knows YAML's syntax."""

from wfc.yaml.builder import parse_document
from wfc.yaml.comments import iter_comments
from wfc.yaml.nodes import Document, Entry, Mapping, Node, Problem, Scalar, Sequence
from wfc.yaml.reader import read_source
from wfc.yaml.source import Source, Span, YamlLimits

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
