"""The entry point: names the verbs, and turns every error into one line and an exit code.

0 means all is well, 1 that a file is damaged, 2 that the command or the system is at fault. Nothing
heavy is imported before a verb runs, so that help answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from graphzero import FormatError, __version__
from graphzero.cli import bench, convert, info, sample, synth, verify

DAMAGED = 1
FAILED = 2
INTERRUPTED = 130  # what shells make of Ctrl-C
CUT_OFF = 141  # and of a pipe whose reader, such as head, has seen enough


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphzero {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="On an error print the traceback too.")] = False,
) -> None:
    """Convert or draw graphs and features as graphzero files, look at them and prove them intact."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(FAILED)


def make_app() -> typer.Typer:
    """Put the verbs together. Help is plain text where nobody looks at it."""
    app = typer.Typer(
        name="graphzero",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
    )
    app.callback(invoke_without_command=True)(_root)
    app.command("bench")(bench.bench)
    app.command("convert")(convert.convert)
    app.command("info")(info.info)
    app.command("sample")(sample.sample)
    app.command("synth")(synth.synth)
    app.command("verify")(verify.verify)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):  # file names may hold any bytes, terminals may speak any encoding
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    debug = "--debug" in arguments  # wherever it stands: people append it to a command that failed
    arguments = ["--debug"] * debug + [word for word in arguments if word != "--debug"]
    try:
        code: Any = make_app()(arguments, prog_name="graphzero", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):  # typer leaves by itself for one reason only: a broken pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_OFF
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        print(f"graphzero: {one_line(error)}", file=sys.stderr)
        return DAMAGED if isinstance(error, FormatError) else FAILED
    if code == INTERRUPTED:
        print("graphzero: interrupted", file=sys.stderr)
    return int(code or 0)


def one_line(error: Exception) -> str:
    """Say what went wrong as a user wants to read it."""
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    elif hasattr(error, "format_message"):  # a usage error of typer, or of click below an older typer
        text = error.format_message()
    elif isinstance(error, (OSError, ValueError)):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}; --debug shows where"
    return " ".join(text.split())


if __name__ == "__main__":
    main()
