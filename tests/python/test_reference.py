"""The docstrings of public names describe every parameter, result and field, and nothing that is not there."""

import dataclasses
import importlib.util
import inspect
import re

import pytest

import graphzero as gz
from data_sets import pyg
from graphzero.convert.row_sources.values import Loss
from graphzero.convert.text import BadLine
from graphzero.memory import FileMemory

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples):$")
# What public functions return without a name of its own in the package.
PARTS = {"BadLine": BadLine, "FileMemory": FileMemory, "Loss": Loss}


def sections(text):
    """Return the body of each section by its name; the lines before them are under ''."""
    found, name = {"": []}, ""
    for line in inspect.cleandoc(text).splitlines():
        if SECTION.match(line):
            name = line[:-1]
            found[name] = []
        elif line and not line.startswith(" "):
            found[""].append(line)
        else:
            found[name].append(line)
    return found


def described(lines):
    """Return the description of each name of a section."""
    items = re.findall(r"^ {4}(\w+): (.*)$", "\n".join(lines), re.MULTILINE)
    return dict(items)


def signature_names(function):
    names = list(inspect.signature(function).parameters)
    return [name for name in names if name not in ("self", "cls")]


def returns_something(function):
    wanted = inspect.signature(function).return_annotation
    return wanted not in (inspect.Signature.empty, None, "None", "NoReturn")


def problems(text, names, section):
    if not text:
        return ["has no docstring"]
    given = described(sections(text).get(section, []))
    wrong = [f"{section} lacks {name}" for name in names if not given.get(name)]
    return wrong + [f"{section} has {name}, which does not exist" for name in given if name not in names]


def problems_of_function(function):
    text = function.__doc__
    found = problems(text, signature_names(function), "Args")
    if text and returns_something(function) and not text.startswith("Return"):
        found += [] if {"Returns", "Yields"} & sections(text).keys() else ["does not say what it returns"]
    return found


def fields_of(kind):
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")]
    return list(getattr(kind, "_fields", ()))  # of a named tuple


def problems_of_class(kind):
    fields = fields_of(kind)
    found = problems(kind.__doc__, fields, "Attributes") if fields else []
    if not fields and "__init__" in vars(kind):
        found += problems(kind.__doc__, signature_names(kind.__init__), "Args")
    for owner in kind.__mro__:
        if not owner.__module__.startswith("graphzero."):
            continue
        for name, member in vars(owner).items():
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                found += [] if member.__doc__ else [f"{name} has no docstring"]
                continue
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function):
                found += [f"{name}: {problem}" for problem in problems_of_function(function)]
    return found


NAMES = [*gz.__all__, *PARTS, "ids.IdBuilder", "ids.IdReport", "ids.kind_of"]
NAMES += [f"loaders.{name}" for name in gz.loaders.__all__]


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_describes_what_is_there(name):
    if name.startswith("loaders."):
        pyg()
    if name == "loaders.LightningDataModule" and not any(
        map(importlib.util.find_spec, ("lightning", "pytorch_lightning"))
    ):
        pytest.skip("lightning is not installed")
    public = PARTS.get(name, gz)
    for part in name.split(".") if public is gz else ():
        public = getattr(public, part)
    if inspect.isclass(public) and public.__module__ != "graphzero._core":
        assert problems_of_class(public) == []
    elif inspect.isfunction(public):
        assert problems_of_function(public) == []


def test_what_is_missing_or_too_much_is_found():
    def wrong(first, second):  # noqa: D417, which finds it too
        """Add.

        Args:
            first: A number.
            third: A number.
        """

    def silent() -> int:
        """Count."""

    assert problems_of_function(wrong) == ["Args lacks second", "Args has third, which does not exist"]
    assert problems_of_function(silent) == ["does not say what it returns"]
