"""The command: lists the verbs, and turns every error into one line and an exit code.

0 means all is well, 1 that a file is damaged, 2 that the command is wrong or the system refused. Nothing
heavy is imported before a verb runs, so that help answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from graphzero import FormatError, __version__
from graphzero._base.visible import visible_lines
from graphzero._files.storage import without_credentials
from graphzero.cli import (
    bench,
    convert,
    demo,
    edit,
    import_tables,
    info,
    interrupts,
    push,
    sample,
    stage,
    synth,
    train,
    verify,
)
from graphzero.cli.errors import one_line

DAMAGED = 1
FAILED = 2
_OUTPUT = "standard output"
CUT_OFF = 141  # what shells make of SIGPIPE: the reader, such as head, closed the pipe


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphzero {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Also print the traceback of an error.")] = False,
) -> None:
    """Graph neural networks on graphs larger than RAM: make and inspect data files, train on them, measure."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(FAILED)


def make_app() -> typer.Typer:
    """Put the verbs together. Help is plain text if it does not go to a terminal."""
    app = typer.Typer(
        name="graphzero",
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
    )
    app.callback(invoke_without_command=True)(_root)
    app.command("bench")(bench.bench)
    app.command("convert")(convert.convert)
    app.command("demo")(demo.demo)
    app.command("edit")(edit.edit)
    app.command("import")(import_tables.import_tables)
    app.command("info")(info.info)
    app.command("push")(push.push)
    app.command("sample")(sample.sample)
    app.command("stage")(stage.stage)
    app.command("synth")(synth.synth)
    app.command("train")(train.train)
    app.command("verify")(verify.verify)
    return app


def main(arguments: Sequence[str]) -> int:
    """Run the command for a process of its own and return its exit code."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):  # file names may hold any bytes, terminals may have any encoding
            stream.reconfigure(errors="backslashreplace")
    plain = warnings.formatwarning
    warnings.formatwarning = lambda *about, **options: visible_lines(plain(*about, **options))
    return run(arguments)


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    debug = "--debug" in arguments  # wherever it stands: people append it to a command that failed
    arguments = ["--debug"] * debug + [word for word in arguments if word != "--debug"]
    command = None
    try:
        command = typer.main.get_command(make_app())
        code: Any = command.main(list(arguments), prog_name="graphzero", standalone_mode=False)
        _flush()
    except (typer.Abort, KeyboardInterrupt):
        code = interrupts.EXIT_CODE
    except SystemExit as leaving:  # how typer ends after a broken pipe, and after it printed the completion
        code = CUT_OFF if _is_cut_off(leaving.__context__) else leaving.code
    except Exception as error:
        if not _is_cut_off(error):
            return _failed(error, _verb(command, arguments), debug)
        code = CUT_OFF
    if code == interrupts.EXIT_CODE:
        print(interrupts.LINE, file=sys.stderr)
    if code == CUT_OFF:
        _drop_output()
    return int(code or 0)


def _failed(error: Exception, verb: Any, debug: bool) -> int:
    """Say what failed, and return the exit code."""
    if debug:
        import traceback

        text = without_credentials("".join(traceback.format_exception(error)))
        print(visible_lines(text), end="", file=sys.stderr)
    print(f"graphzero: {one_line(error, verb)}", file=sys.stderr)
    with suppress(OSError):
        _flush()
    return DAMAGED if isinstance(error, FormatError) else FAILED


def _is_cut_off(error: BaseException | None) -> bool:
    """Tell whether the reader of our output has left. Windows calls that an invalid argument, and names no file."""
    if os.name == "nt" and isinstance(error, OSError) and error.errno == errno.EINVAL:
        return error.filename in (None, _OUTPUT)
    return isinstance(error, BrokenPipeError)


def _flush() -> None:
    """Write what is buffered now, while a failure can still be reported."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        raise OSError(error.errno, error.strerror, _OUTPUT) from None


def _drop_output() -> None:
    """Keep Python from writing again at exit, and from reporting then that it failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _verb(group: Any, arguments: Sequence[str]) -> Any:
    verbs = {} if group is None else group.commands
    return next((verbs[word] for word in arguments if word in verbs), None)
