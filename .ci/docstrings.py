"""How mkdocstrings reads our docstrings: fields and roles of Sphinx in, Google's sections and links out."""

import ast
import re
from textwrap import indent
from typing import Any

import griffe

ROLE = re.compile(r":(?:attr|class|func|meth|mod):`~?(?P<target>[\w.]+)`")
FIELD = re.compile(r"^:param (?P<names>[\w, ]+):(?P<text>.*?)(?=^:|\Z)", re.DOTALL | re.MULTILINE)


def link(match: re.Match[str]) -> str:
    """A role becomes a link to what it names, or its name where no page has that."""
    target = match["target"]
    if not target.startswith("graphzero."):
        return f"`{target}`"
    return f'<autoref optional identifier="{target}"><code>{target}</code></autoref>'


def arguments(fields: str) -> str:
    """Give each name of ``:param x, y:`` an item of its own."""
    items = []
    for field in FIELD.finditer(fields):
        items += [f"{name}:{field['text'].rstrip()}" for name in field["names"].split(", ")]
    return "\n".join(items)


def as_google(text: str) -> str:
    """Turn ``:param x:`` into an ``Args:`` section, and doctests into ``Examples:``. Each paragraph stays in place."""
    done, last = [], ""
    for paragraph in re.split(r"\n\n+", ROLE.sub(link, text)):
        if FIELD.match(paragraph):
            section, body = "Args:\n", indent(arguments(paragraph), "    ")
        elif paragraph.startswith(">>>"):
            section, body = "Examples:\n", indent(paragraph, "    ")
        else:
            section, body = "", paragraph
        done.append(body if section == last else section + body)
        last = section
    return "\n\n".join(done)


class Docstrings(griffe.Extension):
    """Rewrites docstrings, and tells that names of the loaders, which load lazily, are in ``graphzero.loaders``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_google(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        loaders = pkg["loaders"]
        for name, module in ast.literal_eval(str(loaders["_HOMES"].value)).items():
            loaders.set_member(name, griffe.Alias(name, f"{loaders.path}.{module}.{name}"))
