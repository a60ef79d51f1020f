"""What an error says in a shell: one line, with the names of the options, that ends with what to do."""

from __future__ import annotations

import os
import re
from typing import Any

from graphzero import FormatError
from graphzero._base.visible import visible


def one_line(error: Exception, command: Any) -> str:
    """Say what went wrong; ``command`` is typer's command that failed, or ``None``."""
    text = _in_options(_text(error), command)
    if isinstance(error, MemoryError):
        budgeted = command is not None and any(option.name == "memory" for option in command.params)
        text += (
            "; give --memory less, or free some" if budgeted else "; free some, or raise the limit of the control group"
        )
    return visible(" ".join(text.split()))


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if hasattr(error, "format_message"):  # a usage error of typer, or of click below an older typer
        return _with_help(error)
    if isinstance(error, FormatError) and ": bad magic " in str(error):
        return f"{error}: it is no file of graphzero; graphzero convert makes one"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, MemoryError):
        return text or "there is no more memory"
    if isinstance(error, ImportError):
        return text if "pip install" in text or not error.name else f"{text}: pip install {error.name}"
    # Python raises a TypeError for our own mistakes; one about a user's data says what was expected.
    if isinstance(error, (OSError, ValueError, IndexError, KeyError)) or (
        isinstance(error, TypeError) and "expected" in text and "found" in text
    ):
        return text
    return f"{type(error).__name__}: {text}; --debug shows where"


def _with_help(error: Any) -> str:
    text: str = error.format_message().strip().removesuffix(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    return f"{text}{' ' if text.endswith('?') else '; '}{context.command_path} --help tells more"


def _in_options(text: str, command: Any) -> str:
    """Name the arguments of Python functions as the verb does: ``header=False`` is ``--no-header``."""
    for option in [] if command is None else command.params:
        if not option.name or not option.opts[0].startswith("--"):
            continue
        name, flag = re.escape(option.name), option.opts[0]
        text = re.sub(rf"(^|: ){name}: (?=expected)", rf"\1{flag}: ", text)
        text = re.sub(rf"\b{name}=True\b", flag, text)
        if option.secondary_opts:
            text = re.sub(rf"\b{name}=False\b", option.secondary_opts[0], text)
        text = re.sub(rf"\b{name}='([^']*)'", rf"{flag} \1", text)
        text = re.sub(rf"\b{name}=(?=[\s,;.]|$)", flag, text)
    return text
