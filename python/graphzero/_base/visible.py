"""Text from untrusted sources, fit to be printed."""

from __future__ import annotations

import re

# Controls of 7 and 8 bits, which command a terminal, and what turns the direction of text around or ends a line.
_COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

UNSAFE_IN_JSON = re.compile(_COMMANDS.pattern.replace("\x00-\x1f", ""))


def visible(text: str) -> str:
    r"""Spell out the characters that command a terminal: names, labels and lines may come from anyone.

    Examples:
        >>> print(visible("a\x1b[2Jb\n"))
        a\x1b[2Jb\n
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_lines(text: str) -> str:
    """Do the same with a text of several lines."""
    return "\n".join(map(visible, text.split("\n")))
