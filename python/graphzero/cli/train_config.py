"""Options of ``graphzero train`` in a file, under the names that they have on the command line, which wins."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from graphzero._base.argument_errors import value_error
from graphzero._files.folder import replace_file
from graphzero._files.settings_file import ending_of, read_settings

# What says where options come from and go to is not among them.
_NOT_IN_FILES = ("folder", "config", "save_config", "help")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make what a file says the defaults of the options. The callback of ``--config``, before others are read."""
    if path is None or context.resilient_parsing:
        return path
    options = {
        option.opts[0].lstrip("-").replace("-", "_"): option
        for option in context.command.params
        if option.name not in _NOT_IN_FILES
    }
    found: dict[str, Any] = {}
    for name, value in read_settings(os.fspath(path), "config").items():
        known = name.replace("-", "_")
        if known not in options:
            raise ValueError(f"{path}: {_unknown(name, list(options))}")
        if options[known].name in found:
            raise ValueError(f"{path}: {name}: expected each option once, found it under two spellings")
        if value is not None:  # as an option that is not given
            found[options[known].name] = _checked(f"{path}: {name}", options[known], value, context)
    context.default_map = {**(context.default_map or {}), **found}
    return path


def check_new(path: Path) -> None:
    """Refuse a file that options cannot be saved to, before anything is trained."""
    name = os.fspath(path)
    ending_of(name, "save_config")
    if os.path.lexists(name):
        raise value_error("save_config", f"expected a name that is free, found {name!r}; remove it, or take another")


def save_config(path: Path, options: Mapping[str, Any]) -> None:
    """Write options to a file that ``--config`` reads."""
    check_new(path)
    name = os.fspath(path)
    ending = ending_of(name, "save_config")
    plain = {option.replace("_", "-"): _plain(value) for option, value in options.items() if value is not None}
    if ending == ".json":
        text = json.dumps(plain, indent=2) + "\n"
    else:  # what JSON writes, TOML and YAML read
        mark = " =" if ending == ".toml" else ":"
        text = "".join(f"{option}{mark} {json.dumps(value, ensure_ascii=False)}\n" for option, value in plain.items())
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    replace_file(name, text.encode())


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return value if isinstance(value, (bool, int, float)) else str(value)


def _unknown(name: str, options: list[str]) -> str:
    spelled = [option.replace("_", "-") for option in options]
    near = difflib.get_close_matches(name.replace("_", "-"), spelled, n=3)
    if near:
        return f"no option {name!r}; did you mean {' or '.join(near)}?"
    return f"no option {name!r}; there are {', '.join(spelled)}"


def _checked(place: str, option: Any, value: Any, context: typer.Context) -> Any:
    """Read a value as the command line would, but say where it is if it is wrong."""
    if isinstance(value, dict):
        raise ValueError(f"{place}: expected a plain value, found a table")
    if option.is_flag or isinstance(value, bool):
        if not (option.is_flag and isinstance(value, bool)):
            raise ValueError(f"{place}: expected {'true or false' if option.is_flag else 'a value'}, found {value!r}")
        return value
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    try:
        option.process_value(context, text)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        why = error.message.strip().removesuffix(".")  # type: ignore[attr-defined]
        raise ValueError(f"{place}: cannot read {value!r}: {why}") from None
    return text
