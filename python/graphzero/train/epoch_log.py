"""A log with a row per epoch, as CSV or JSON, that a resumed run goes on with."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero._files.folder import check_regular, replace_file
from graphzero._files.storage import target_here

ENDINGS = (".csv", ".jsonl", ".json")

Row = Mapping[str, Any]


class EpochSink(Protocol):
    """Takes a row per epoch: numbers by name, or ``None`` for what was not measured."""

    def write(self, row: Row) -> None:
        """Take the row of an epoch that is done."""

    def close(self) -> None:
        """No more rows come. May be called again."""


class EpochLog:
    """A file with a row per epoch; whoever reads it meanwhile finds every epoch that is done.

    ``.csv`` has a header, ``.jsonl`` an object per line, ``.json`` a list of objects. ``done`` are rows of the epochs
    before the first to come: what the file says of them stays, those it lacks are added, and what it has of later
    epochs, which a resumed run does again, is removed.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str], done: Sequence[Row] = ()) -> None:
        self._path = target_here(path)
        self._columns = list(columns)
        there = {} if not os.path.exists(self._path) else self._read()
        self._rows = [{**row, **there.get(row["epoch"], {})} for row in done]
        os.makedirs(os.path.dirname(os.path.abspath(self._path)), exist_ok=True)
        replace_file(self._path, self._text(self._rows, whole=True).encode())

    def write(self, row: Row) -> None:
        """Append the row of an epoch."""
        self._rows.append({name: row.get(name) for name in self._columns})
        if self._ending == ".json":
            replace_file(self._path, self._text(self._rows, whole=True).encode())
            return
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            file.write(self._text(self._rows[-1:], whole=False))

    def close(self) -> None:
        """Do nothing: the file is complete after each row."""

    @property
    def _ending(self) -> str:
        return log_ending(self._path)

    def _text(self, rows: Sequence[Row], *, whole: bool) -> str:
        if self._ending == ".csv":
            out = io.StringIO()
            writer = csv.DictWriter(out, self._columns, lineterminator="\n", extrasaction="ignore")
            if whole:
                writer.writeheader()
            writer.writerows(rows)
            return out.getvalue()
        plain = [{name: row.get(name) for name in self._columns} for row in rows]
        if self._ending == ".jsonl":
            return "".join(f"{json.dumps(row)}\n" for row in plain)
        return json.dumps(plain, indent=1) + "\n"

    def _read(self) -> dict[int, Row]:
        """Return the rows that the file has, by epoch. Half a line, of a process that was killed, is none."""
        check_regular(self._path)
        try:
            with open(self._path, encoding="utf-8", newline="") as file:
                text = file.read()
            if self._ending == ".json":
                rows = json.loads(text)
            else:
                lines = text[: text.rfind("\n") + 1].splitlines()
                rows = self._of_csv(lines) if self._ending == ".csv" else [json.loads(line) for line in lines]
            return {int(row["epoch"]): row for row in rows}
        except (UnicodeDecodeError, ValueError, KeyError, TypeError, csv.Error) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{self._path}: expected a log of graphzero train, found: {error}") from None

    def _of_csv(self, lines: list[str]) -> list[dict[str, Any]]:
        reader = csv.DictReader(lines)
        if lines and reader.fieldnames != self._columns:
            raise FormatError(
                f"{self._path}: expected the columns {','.join(self._columns)}, found {lines[0][:200]}; "
                "give the log of this training, or another name"
            )
        return list(reader)


def log_ending(path: str | os.PathLike[str]) -> str:
    """Return how the name of a log ends, which says what it is."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in ENDINGS:
        raise value_error("log", f"expected a name that ends in .csv, .jsonl or .json, found {os.fspath(path)!r}")
    return ending
