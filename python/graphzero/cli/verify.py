"""``graphzero verify``: prove a file or a data set intact. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
import sys
from itertools import groupby

import graphzero as gz
from graphzero._base.visible import visible
from graphzero._files.manifest_paths import MANIFEST
from graphzero.cli.console import JsonOption, PathArgument, print_json


def verify(path: PathArgument, json: JsonOption = False) -> int:
    """Read everything and check it.

    Exit code 0: intact, 1: damaged, 2: could not be read, 3: nothing is wrong, but a file has no checksum to prove it.
    """
    name = os.fspath(path)
    # gz.verify has no check for what opening proves: it raises instead.
    opened = (MANIFEST, "manifest") if os.path.isdir(name) else (name, "header")
    try:
        checks = [gz.Check(*opened, ""), *gz.verify(name, progress=sys.stderr.isatty())]
    except gz.FormatError as error:
        opened_path = os.path.join(name, MANIFEST) if os.path.isdir(name) else name
        checks = [gz.Check(*opened, str(error).removeprefix(f"{opened_path}: "))]
    files = [(file, list(group)) for file, group in groupby(checks, key=lambda check: check.file)]
    intact = _intact(checks)
    code = {True: 0, False: 1, None: 3}[intact]
    if json:
        print_json({"path": name, "intact": intact, "files": [_document(*file) for file in files]})
        return code
    for file, group in files:
        _print_table(file, group) if sys.stdout.isatty() else _print_lines(file, group)
    made = [check for check in checks if check.state != "unknown"]
    failed = sum(check.state == "fails" for check in made)
    verdict = {
        True: f"intact, {len(made)} checks",
        False: f"damaged, {failed} of {len(made)} checks failed",
        None: f"structure is consistent, {len(made)} checks; content could not be checked",
    }[intact]
    print(visible(f"{name}: {verdict}"))
    return code


def _intact(checks: list[gz.Check]) -> bool | None:
    """Return ``None`` if nothing failed, but not everything could be checked."""
    states = {check.state for check in checks}
    return False if "fails" in states else None if "unknown" in states else True


def _document(file: str, checks: list[gz.Check]) -> dict[str, object]:
    return {
        "path": file,
        "intact": _intact(checks),
        "checks": [
            {"name": check.name, "holds": _intact([check]), "problem": check.problem or None} for check in checks
        ],
    }


def _print_lines(file: str, checks: list[gz.Check]) -> None:
    wrong = [check for check in checks if not check.holds]
    if not wrong:
        print(visible(f"✓ {file}: {len(checks)} checks"))
    for check in wrong:
        print(visible(f"{'?' if check.state == 'unknown' else '✗'} {file}: {check.name}: {check.problem}"))


def _print_table(file: str, checks: list[gz.Check]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    for check in checks:
        sign, style = {"holds": ("✓", "green"), "fails": ("✗", "bold red"), "unknown": ("?", "yellow")}[check.state]
        mark = Text(sign, style=style)
        text = Text(visible(check.name))
        if check.problem:
            text.append(visible(f": {check.problem}"), style=style.removeprefix("bold "))
        table.add_row(" ", mark, text)
    console = Console()
    console.print(Text(visible(file), style="bold"))
    console.print(table)
