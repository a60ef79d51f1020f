"""HTML that cannot be broken by the text in it: what is not markup already is escaped on its way in."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is HTML and goes into the page as it is."""


def tag(name: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """Return an element. ``None`` leaves a child or an attribute out; ``_`` in the name of an attribute is ``-``.

    Examples:
        >>> tag("td", "a < b", class_="wide", aria_label=None)
        '<td class="wide">a &lt; b</td>'
    """
    opening = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{opening}>{joined(*children)}</{name}>")


def joined(*children: str | None) -> Markup:
    """Return children one after the other, text among them escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child, False) for child in children if child is not None)
    )
