"""Checks IRIs and UTF-8 in bytes.

The checks say "yes" or "not sure", never "no": what they do not know (IP addresses, user information, private
characters, anything wrong) is left to a full parser.
"""

import numpy as np

from freshet.kernels.hashing import word_64
from freshet.kernels.jit import leaf

UNSURE = np.int64(-1)

LESS = ord("<")
GREATER = ord(">")
COLON = ord(":")
SLASH = ord("/")
HASH = ord("#")
QUESTION = ord("?")
PERCENT = ord("%")

_ALPHA = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGIT = "0123456789"

# what a byte may be part of, as bits of CLASSES[byte]
IS_ALPHA = 1
IS_DIGIT = 2
IS_HEX = 4
IS_SCHEME = 8
IS_HOST = 16  # RFC 3987: iunreserved and sub-delims in ASCII
IS_PATH = 32  # the same, and what separates parts of a path or a query
IS_LABEL = 64  # of a blank node, apart from points
IS_PLAIN = 128  # of a string: ASCII that needs no escape

_HTTP = np.uint64(int.from_bytes(b"<http://", "little"))  # most IRIs begin so


def _classes() -> np.ndarray:
    classes = np.zeros(256, np.uint8)
    host = _ALPHA + _DIGIT + "-._~!$&'()*+,;="
    for bit, characters in (
        (IS_ALPHA, _ALPHA),
        (IS_DIGIT, _DIGIT),
        (IS_HEX, _DIGIT + "ABCDEFabcdef"),
        (IS_SCHEME, _ALPHA + _DIGIT + "+-."),
        (IS_HOST, host),
        (IS_PATH, host + ":@/?"),
        (IS_LABEL, _ALPHA + _DIGIT + "_-"),
        (IS_PLAIN, "".join(map(chr, {*range(0x80)} - {*b'"\\\r\n'}))),
    ):
        for character in characters:
            classes[ord(character)] |= bit
    return classes


CLASSES = _classes()


@leaf
def is_a(byte, mask):
    """Whether a byte is of one of the classes."""
    return CLASSES[byte] & mask != 0


@leaf
def _are_all(data, at, mask):
    """Whether eight bytes from `at` on are of one of the classes; no branch depends on a single byte."""
    first = np.uint64(at)
    found = CLASSES[data[first]] & mask
    for i in range(1, 8):
        found &= CLASSES[data[first + np.uint64(i)]] & mask
    return found != 0


@leaf
def _continuation(data, at, end):
    return at < end and data[at] & 0xC0 == 0x80


@leaf
def code_point(data, at, end):
    """The code point at `at` (a byte from 0x80 on) and where it ends; both -1 where it is not well-formed UTF-8."""
    lead = np.int64(data[at])
    if lead < 0xC2 or lead > 0xF4 or not _continuation(data, at + 1, end):
        return UNSURE, UNSURE
    second = np.int64(data[at + 1]) & 0x3F
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | second, at + 2
    if not _continuation(data, at + 2, end):
        return UNSURE, UNSURE
    third = np.int64(data[at + 2]) & 0x3F
    if lead < 0xF0:
        point = (lead & 0x0F) << 12 | second << 6 | third
        if point < 0x800 or 0xD800 <= point <= 0xDFFF:
            return UNSURE, UNSURE
        return point, at + 3
    if not _continuation(data, at + 3, end):
        return UNSURE, UNSURE
    point = (lead & 0x07) << 18 | second << 12 | third << 6 | (np.int64(data[at + 3]) & 0x3F)
    if point < 0x10000 or point > 0x10FFFF:
        return UNSURE, UNSURE
    return point, at + 4


@leaf
def _is_ucschar(point):
    """RFC 3987 ucschar: the characters beyond ASCII that may stand anywhere in an IRI after its scheme."""
    if point < 0x10000:
        return 0xA0 <= point <= 0xD7FF or 0xF900 <= point <= 0xFDCF or 0xFDF0 <= point <= 0xFFEF
    return point < 0xF0000 and point & 0xFFFF <= 0xFFFD and not 0xE0000 <= point < 0xE1000


@leaf
def skip_all(data, at, end, mask):
    """Where a run of bytes of these classes ends, or up to seven bytes before; the mask is of one class."""
    while end - at >= 8 and _are_all(data, at, mask):
        at += 8
    return at


@leaf
def _skip_characters(data, at, end, mask):
    """Where a run of characters of these classes ends, escaped (%41) and non-ASCII ones included; -1 if not sure.

    The mask is of one class.
    """
    at = skip_all(data, at, end, mask)
    while at < end:
        byte = data[at]
        if is_a(byte, mask):
            at += 1
        elif byte == PERCENT:
            if end - at < 3 or not (is_a(data[at + 1], IS_HEX) and is_a(data[at + 2], IS_HEX)):
                return UNSURE
            at += 3
        elif byte >= 0x80:
            point, at = code_point(data, at, end)
            if not _is_ucschar(point):
                return UNSURE
        else:
            break
    return at


@leaf
def _scheme_end(data, at, end):
    """Where the scheme of an IRI in angle brackets ends (past the colon), or -1."""
    if end - at >= 8 and word_64(data, np.uint64(at)) == _HTTP:
        return at + 6
    if at >= end or data[at] != LESS:
        return UNSURE
    at += 1
    if at >= end or not is_a(data[at], IS_ALPHA):
        return UNSURE
    while at < end and is_a(data[at], IS_SCHEME):
        at += 1
    if at >= end or data[at] != COLON:
        return UNSURE
    return at + 1


@leaf
def iri_end(data, at, end):
    """Where the IRI in angle brackets that starts at `at` ends (past the bracket), or -1 where that is not sure."""
    at = _scheme_end(data, at, end)
    if at < 0:
        return UNSURE
    if end - at >= 2 and data[at] == SLASH and data[at + 1] == SLASH:
        at = _skip_characters(data, at + 2, end, IS_HOST)
        if at < 0:
            return UNSURE
        if at < end and data[at] == COLON:
            at += 1
            while at < end and is_a(data[at], IS_DIGIT):
                at += 1
        if at < end and data[at] not in (SLASH, QUESTION, HASH, GREATER):
            return UNSURE
    at = _skip_characters(data, at, end, IS_PATH)
    if at >= 0 and at < end and data[at] == HASH:
        at = _skip_characters(data, at + 1, end, IS_PATH)
    if at < 0 or at >= end or data[at] != GREATER:
        return UNSURE
    return at + 1
