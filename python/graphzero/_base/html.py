"""HTML for notebooks: escaped text, tables, and bars as SVG. It has no scripts and fetches nothing.

Notebooks have themes of their own, whatever the system prefers. So text has the colour of what is around it, there is
no background, and the one colour of bars has enough contrast with white and with black.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graphzero._base.visible import visible

# Of bars: 4.1 : 1 on white, and 4.7 : 1 on the darkest grey that notebooks use.
BAR_COLOUR = "#3b82c4"

# The names of elements are repeated because notebooks style all tables, with rules that count as much.
_STYLE = f"""
.gz-look {{ max-width: 46rem; font-size: 14px; line-height: 1.45; color: inherit; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }}
.gz-look table.gz {{ width: 100%; margin: 2px 0 6px; border: 0; border-collapse: collapse; table-layout: auto;
  color: inherit; font-size: inherit; }}
.gz-look table.gz tr, .gz-look table.gz tr:hover {{ background: none; border: 0; }}
.gz-look table.gz th, .gz-look table.gz td {{ padding: 1px 0; border: 0; background: none; color: inherit;
  text-align: left; vertical-align: top; white-space: normal; max-width: none; font-weight: 400; }}
.gz-look table.gz th {{ width: 7.5em; padding-right: 12px; }}
.gz-look table.gz-bars th, .gz-look table.gz-bars td {{ vertical-align: middle; }}
.gz-look table.gz-bars th {{ width: 36%; }}
.gz-look table.gz td.gz-draw {{ padding-right: 12px; vertical-align: middle; }}
.gz-look table.gz td.gz-count {{ text-align: right; white-space: nowrap; width: 1%; }}
.gz-look svg {{ display: block; width: 100%; overflow: visible; }}
.gz-look .gz-bar {{ fill: {BAR_COLOUR}; }}
.gz-look .gz-track {{ fill: currentColor; fill-opacity: 0.12; }}
.gz-look .gz-ends {{ margin-bottom: 4px; display: flex; justify-content: space-between; font-size: 12px; }}
.gz-look .gz-title {{ font-weight: 600; margin: 0 0 4px; }}
.gz-look .gz-title span, .gz-look summary span {{ font-weight: 400; }}
.gz-look details {{ margin: 4px 0; padding: 4px 0 0; border-top: 1px solid rgba(128, 128, 128, 0.4); }}
.gz-look summary {{ cursor: pointer; font-weight: 600; }}
"""


class Html(str):
    """Text that is HTML already. Any other text is escaped before it becomes part of a page."""

    __slots__ = ()


def html(text: str) -> Html:
    """Escape text that may come from anyone, unless it is HTML already.

    Examples:
        >>> html("<b> & 'c'")
        '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return text if isinstance(text, Html) else Html(escape(visible(text)))


def card(kind: str, name: str, *parts: str) -> str:
    """Return all that a cell of a notebook shows of one object."""
    style = f"<style>{_STYLE}</style>"
    title = f'<p class="gz-title">{html(kind)} <span>{html(name)}</span></p>'
    return f'<div class="gz-look">{style}{title}{"".join(map(html, parts))}</div>'


def line(text: str) -> Html:
    """Return a line of its own."""
    return Html(f"<div>{html(text)}</div>")


def table(rows: Iterable[tuple[str, str, Html | None]]) -> Html:
    """Return names and texts side by side, and below them what was drawn, if anything; nothing without rows."""
    lines = []
    for name, text, drawn in rows:
        lines.append(f'<tr><th scope="row">{html(name)}</th><td>{html(text)}</td></tr>')
        if drawn is not None:
            lines.append(f'<tr><td colspan="2">{drawn}</td></tr>')
    return Html(f'<table class="gz"><tbody>{"".join(lines)}</tbody></table>' if lines else "")


def fact_table(rows: Iterable[tuple[str, str]]) -> Html:
    """Return a table of names and texts."""
    return table((name, text, None) for name, text in rows)


def folded(name: str, text: str, body: Html, *, is_open: bool = True) -> Html:
    """Return a part that can be folded away."""
    state = " open" if is_open else ""
    return Html(f"<details{state}><summary>{html(name)} <span>{html(text)}</span></summary>{html(body)}</details>")


def bars(rows: Sequence[tuple[str, float, str]]) -> Html:
    """Return a table with a name, a bar for a share between 0 and 1, and a text in each row."""
    lines = "".join(
        f'<tr><th scope="row">{html(name)}</th><td class="gz-draw">{bar(share)}</td>'
        f'<td class="gz-count">{html(text)}</td></tr>'
        for name, share, text in rows
    )
    return Html(f'<table class="gz gz-bars"><tbody>{lines}</tbody></table>' if lines else "")


def bar(share: float) -> Html:
    """Return a bar; the text beside it has to say the number."""
    width = 100 * min(1.0, max(0.0, share))
    return Html(
        '<svg aria-hidden="true" height="10" viewBox="0 0 100 10" preserveAspectRatio="none">'
        '<rect class="gz-track" width="100" height="10"></rect>'
        f'<rect class="gz-bar" width="{width:.2f}" height="10"></rect></svg>'
    )


def columns(names: Sequence[str], counts: Sequence[int], unit: str) -> Html:
    """Return a column for each count, of names that are neighbours on a scale, with the first and the last below."""
    most = max(counts, default=0) or 1
    shapes = []
    for number, (name, count) in enumerate(zip(names, counts, strict=True)):
        height = 40 * count / most
        if count:
            height = max(height, 1.0)  # so that every count shows
        shapes.append(
            f'<rect class="gz-bar" x="{number + 0.06:.2f}" width="0.88" y="{40 - height:.2f}" height="{height:.2f}">'
            f"<title>{html(f'{name}: {count:,} {unit}')}</title></rect>"
        )
    spoken = "; ".join(f"{name}: {count:,} {unit}" for name, count in zip(names, counts, strict=True))
    drawn = (
        f'<svg role="img" aria-label="{html(spoken)}" height="40" viewBox="0 0 {len(names)} 40" '
        f'preserveAspectRatio="none">{"".join(shapes)}</svg>'
    )
    ends = [names[0], *names[1:][-1:]]
    below = "".join(f"<span>{html(name)}</span>" for name in ends)
    # A few columns are not stretched over the whole width.
    return Html(f'<div style="max-width: {2.2 * len(names):.1f}em">{drawn}<div class="gz-ends">{below}</div></div>')
