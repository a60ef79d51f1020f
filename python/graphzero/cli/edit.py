"""``graphzero edit``: change a data set folder. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import json as json_format
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphzero as gz
from graphzero._base.argument_errors import value_error
from graphzero._files.folder import hidden_folder
from graphzero.cli.console import JsonOption, print_facts, print_json

if TYPE_CHECKING:
    from graphzero.dataset import TypeName


def edit(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The data set folder to change.", show_default=False)
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[TYPE.]NAME=FILE", help="Add or replace an attribute, by rows in order of ids."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="[TYPE.]NAME[=FILE]", help="Make an attribute the label; FILE has its classes, integers."),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(metavar="[TYPE.]NAME=FILE", help="Add or replace a split: .npy, .gd, or text, an id per line."),
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Keep a value: JSON, or else text.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="[TYPE.]NAME", help="Remove an attribute.")] = None,
    remove_split: Annotated[list[str] | None, typer.Option(metavar="[TYPE.]NAME", help="Remove a split.")] = None,
    remove_type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Remove a node type, or an edge type such as a__to__b.")
    ] = None,
    rename: Annotated[list[str] | None, typer.Option(metavar="[TYPE.]OLD=NEW", help="Rename an attribute.")] = None,
    rename_split: Annotated[list[str] | None, typer.Option(metavar="[TYPE.]OLD=NEW", help="Rename a split.")] = None,
    rename_type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE=NEW", help="Rename a node type, or the relation of an edge type.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="The type to store what --set converts; text needs it.")] = None,
    num_classes: Annotated[int | None, typer.Option(help="Number of classes of --label.")] = None,
    class_names: Annotated[
        Path | None, typer.Option(help="Names of the classes of --label: a text with one per line, class 0 first.")
    ] = None,
    labels: Annotated[
        bool | None,
        typer.Option("--labels/--no-labels", help="Whether --split has labels, not ids. Default: if they are text."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Change a data set folder: all changes appear together, or none does.

    They are made in this order: remove, rename, then set.
    """
    from graphzero._look.dataset_facts import dataset_facts
    from graphzero._look.limits import COMMAND
    from graphzero.cli.fact_lines import dataset_lines

    given = (set_, label, split, metadata, remove, remove_split, remove_type, rename, rename_split, rename_type)
    if not any(given):
        raise value_error("set_", "expected a change, such as this one with x=rows.npy, found none")
    if (num_classes is not None or class_names is not None) and len(label or []) != 1:
        raise value_error("label", f"expected one beside its classes, found {len(label or [])}")
    with ExitStack() as stack:
        editor = stack.enter_context(gz.edit_dataset(folder))
        work = _Work(editor, stack.enter_context(hidden_folder(editor.path)))
        for text in remove or ():
            kind, name = work.named(text)
            editor.remove(name, of=kind)
        for text in remove_split or ():
            kind, name = work.named(text)
            editor.remove_split(name, of=kind)
        for text in remove_type or ():
            editor.remove_type(work.type(text, "remove_type"))
        for text in rename or ():
            kind, old, new = work.assigned(text, "rename")
            editor.rename(old, new, of=kind)
        for text in rename_split or ():
            kind, old, new = work.assigned(text, "rename_split")
            editor.rename_split(old, new, of=kind)
        for text in rename_type or ():
            before, _, new = text.partition("=")
            known = work.type(before, "rename_type")
            editor.rename_type(known, new if isinstance(known, str) else (known[0], new, known[2]))
        for text in set_ or ():
            kind, name, file = work.assigned(text, "set_")
            editor.set_attribute(name, work.rows(file, dtype), of=kind)
        for text in label or ():
            kind, name = work.named(text.partition("=")[0])
            file = text.partition("=")[2]
            editor.set_label(
                name, work.classes(file) if file else None, of=kind,  # type: ignore[arg-type]
                num_classes=num_classes, class_names=None if class_names is None else _lines(class_names),
            )  # fmt: skip
        for text in split or ():
            kind, name, file = work.assigned(text, "split")
            editor.set_split(name, _ids(file), of=kind, labels=labels)
        editor.set_metadata(**dict(_value(text) for text in metadata or ()))
    with gz.open(folder) as changed:
        facts = dataset_facts(changed, COMMAND)
    print_json(facts) if json else print_facts(os.fspath(folder), dataset_lines(facts))
    return 0


class _Work:
    """Reads what the options say: names with a type before them, and files, which are converted in ``folder``."""

    def __init__(self, editor: gz.DatasetEditor, folder: str) -> None:
        self._editor, self._folder, self._num_files = editor, folder, 0

    def _types(self) -> dict[str, TypeName]:
        return {
            **{"__".join(triple): triple for triple in self._editor.edge_types},
            **{name: name for name in self._editor.node_types},
        }

    def type(self, text: str, option: str) -> TypeName:
        types = self._types()
        if text not in types:
            raise value_error(option, f"expected a type, one of {', '.join(types)}, found {text!r}")
        return types[text]

    def named(self, text: str) -> tuple[TypeName | None, str]:
        """Return the type and the name of ``TYPE.NAME``; a name may have dots too, so that the type has to exist."""
        types = self._types()
        before = max((name for name in types if text.startswith(f"{name}.")), key=len, default=None)
        return (None, text) if before is None else (types[before], text[len(before) + 1 :])

    def assigned(self, text: str, option: str) -> tuple[TypeName | None, str, str]:
        before, sign, after = text.partition("=")
        if not sign or not after:
            raise value_error(option, f"expected a name, = and what it gets, found {text!r}")
        return *self.named(before), after

    def rows(self, file: str, dtype: str | None) -> str:
        """Return the path of a ``.gd`` file with the rows of any file."""
        if file.endswith(".gd") and dtype is None:
            return file
        self._num_files += 1
        target = os.path.join(self._folder, f"{self._num_files}.gd")
        gz.convert_features(file, target, dtype=dtype, progress=sys.stderr.isatty())
        return target

    def classes(self, file: str) -> Any:
        """Return a class per node; text has one column, which is no dimension."""
        with gz.FeatureStore(self.rows(file, "int64")) as store:
            rows = store.get_tensor(writable=False)
        return rows.reshape(-1) if rows.shape[1:] == (1,) else rows


def _ids(file: str) -> Any:
    import numpy as np

    if file.endswith(".npy"):
        return np.load(file, mmap_mode="r")
    if file.endswith(".gd"):
        return gz.FeatureStore(file).get_tensor(writable=False)
    lines = _lines(file)
    try:
        return np.array([int(line) for line in lines], np.int64)
    except ValueError:
        return lines  # labels of text


def _lines(file: str | Path) -> list[str]:
    with open(file, encoding="utf-8") as text:
        return [line.strip() for line in text if line.strip()]


def _value(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise value_error("metadata", f"expected a name, = and a value, found {text!r}")
    try:
        return name, json_format.loads(value)
    except ValueError:
        return name, value
