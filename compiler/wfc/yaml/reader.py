"""Decode a file's bytes. Every input is accepted; problems are reported at their position."""

from __future__ import annotations

import codecs

from wfc.caching import pattern
from wfc.yaml.nodes import Problem
from wfc.yaml.source import Source

# Characters that YAML does not allow, and the byte order mark, which is invisible and which libyaml sometimes drops.
# The complement would be equivalent, but takes 8 ms to compile at every start.
_FORBIDDEN = pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_source(data: bytes, path: str, max_bytes: int) -> tuple[Source, list[Problem]]:
    """The text of a file. If there are problems, the text is for displaying them and must not be parsed."""
    if len(data) > max_bytes:
        source = Source(path, "")
        message = f"the file has more than {max_bytes:,} bytes, which is the limit"
        help_ = "split it into smaller files"
        return source, [Problem("limit", message, source.start, help_, setting="source_bytes")]
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            source = Source(path, data.decode(encoding, errors="replace"))
            message = f"the file is encoded as {encoding}, and must be UTF-8"
            return source, [Problem("syntax", message, source.start, help="save it as UTF-8")]
    # A byte order mark is allowed at the beginning, and is not part of the text.
    return _read_utf8(data.removeprefix(codecs.BOM_UTF8), path)


def find_forbidden_characters(source: Source) -> list[Problem]:
    """A problem at the first character that YAML does not allow, saying how many there are."""
    # A fast path for nearly all files: printable characters and line breaks are allowed.
    if source.text.replace("\n", "").isprintable():
        return []
    found = _FORBIDDEN.search(source.text)
    if found is None:
        return []
    message = f"{_describe(found[0])} is not allowed in YAML"
    count = len(_FORBIDDEN.findall(source.text, found.end())) + 1
    if count > 1:
        message += f" (the first of {count:,} such characters)"
    return [Problem("syntax", message, source.span(*found.span()), help=_way_out(found[0]))]


def _read_utf8(data: bytes, path: str) -> tuple[Source, list[Problem]]:
    try:
        source = Source(path, data.decode("utf-8"))
        problems = []
    except UnicodeDecodeError as error:
        source = Source(path, data.decode("utf-8", errors="replace"))
        problems = [_invalid_utf8(source, data, error.start)]
    # An invalid byte becomes U+FFFD, which is allowed, so both searches are needed.
    return source, problems + find_forbidden_characters(source)


def _invalid_utf8(source: Source, data: bytes, start: int) -> Problem:
    message = f"the byte 0x{data[start]:02X} is not valid UTF-8"
    written_by_hand = data.count("\ufffd".encode())
    # The author may have written the same character.
    count = source.text.count("\ufffd") - written_by_hand
    if count > 1:
        message += f" (the first of {count:,} such places)"
    # Everything before the first invalid byte is valid.
    offset = len(data[:start].decode("utf-8"))
    return Problem("syntax", message, source.span(offset, offset + 1), help="save the file as UTF-8")


def _describe(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if character == "\0":
        return f"a NUL character ({code})"
    if character == "\ufeff":
        return f"a byte order mark ({code}) inside the text"
    if character < "\xa0":
        return f"the control character {code}"
    return f"the character {code}"


def _way_out(character: str) -> str:
    if character < "\xa0":
        return f'remove it; inside double quotes it can be written as "\\x{ord(character):02x}"'
    return "remove it"
