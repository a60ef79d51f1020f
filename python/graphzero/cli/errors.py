"""What an error says in a shell: one line, with the names of the options, that ends with what to do."""

from __future__ import annotations

import os
from typing import Any

from graphzero import FormatError
from graphzero._base.argument_errors import Argument, Part, parts_of
from graphzero._base.visible import visible
from graphzero._files.storage import without_credentials


def one_line(error: Exception, command: Any) -> str:
    """Say what went wrong; ``command`` is typer's command that failed, or ``None``."""
    options = {} if command is None else {option.name: option for option in command.params}
    text = _text(error, "".join(_spelled(part, options) for part in parts_of(error)))
    if isinstance(error, MemoryError):
        budgeted = "memory" in options
        text += (
            "; give --memory less, or free some" if budgeted else "; free some, or raise the limit of the control group"
        )
    return visible(without_credentials(" ".join(text.split())))


def _spelled(part: Part, options: dict[str, Any]) -> str:
    """Call the arguments of Python functions as the verb calls them: ``header=False`` is ``--no-header``."""
    option = None if isinstance(part, str) else options.get(part.name)
    if isinstance(part, str) or option is None or not option.opts[0].startswith("--"):
        return str(part)
    flag: str = option.opts[0]
    if isinstance(part, Argument) or not part.has_value or part.value is True:
        return flag
    if part.value is False:
        return option.secondary_opts[0] if option.secondary_opts else f"no {flag}"
    return f"{flag} {part.value}"


def _text(error: Exception, text: str) -> str:
    """Return ``text``, which is what the error says, with what a reader at a shell needs besides."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {text if 'parts' in error.__dict__ else error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if hasattr(error, "format_message"):  # a usage error of typer, or of click below an older typer
        return _with_help(error)
    if isinstance(error, FormatError) and ": bad magic " in text:
        return f"{text}: it is no file of graphzero; graphzero convert makes one"
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
