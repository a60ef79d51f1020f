"""A plan as it was written, which every step reads first."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import integer
from graphzero._core import FormatError
from graphzero._files.storage import is_url, path_text
from graphzero.convert._shards.pieces import Piece
from graphzero.convert._shards.sealed_json import parsed, proven_checksum, sealed
from graphzero.convert._shards.work_folder import PLAN, is_own_plan, is_step_file, other_plan
from graphzero.convert.step_files import StepFiles

_VERSION = 5
# How messages end that do not know the name of a step.
_REPEAT = re.compile(r"(remove it and )?repeat the step( that wrote it)?$")
_ADVICE = "plan it again"


class StepPlan:
    """A plan of edges or of features, and where the files of its steps are."""

    kind: str  # what is converted
    maker: str  # the function that writes such a plan

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.files = StepFiles(folder)
        self.folder = self.files.folder
        path = self.files.expect(PLAN, f"{self.maker}()")
        content = self.files.read(PLAN)
        self.told = parsed(content, path, _ADVICE)
        if self.told.get("version") != _VERSION:
            raise ValueError(
                f"{path}: expected a plan of version {_VERSION}, found {self.told.get('version')}; {_ADVICE}"
            )
        # Before anything else is believed: a plan that was changed could leave out edges. Part of it is in the names
        # of files, so that those of another plan are never taken for ours.
        self.fingerprint = proven_checksum(content, PLAN, path, _ADVICE)[:12]
        if self.told["kind"] != self.kind:
            raise ValueError(
                f"{path}: expected a plan of {self.maker}(), for {self.kind}, found one for {self.told['kind']}"
            )
        self.pieces = [[Piece(*piece) for piece in task] for task in self.told["tasks"]]

    @classmethod
    def write(cls, files: StepFiles, tasks: list[list[Piece]], told: dict[str, Any]) -> None:
        """Write a plan: its tasks, and what else steps have to know. Replaces another plan, and no file of others."""
        if files.is_there(PLAN) and not is_own_plan(files.read(PLAN)):
            raise other_plan(files.folder)
        plan = {
            "version": _VERSION,
            "kind": cls.kind,
            **told,
            "tasks": [[dataclasses.astuple(piece) for piece in task] for task in tasks],
        }
        files.replace(PLAN, sealed(plan, PLAN))

    def name(self, what: str, ending: str) -> str:
        """Return the name of a step's file."""
        return f"{what}.{self.fingerprint}{ending}"

    def are_there(self, *names: str) -> bool:
        """Whether steps have written these files."""
        return all(map(self.files.has, names))

    def refuse_step_file(self, path: str | os.PathLike[str]) -> None:
        """Refuse a target that is a file of a step, or whose name is kept for one."""
        if self.files.is_stored:
            return
        folder, name = os.path.split(os.path.abspath(path_text(path)))
        if os.path.realpath(folder) == os.path.realpath(self.folder) and is_step_file(name):
            raise ValueError(
                f"{path_text(path)}: expected another file than those of the steps, found one of theirs, in the folder "
                "of the plan; name another"
            )

    def refuse_source(self, path: str | os.PathLike[str]) -> None:
        """Refuse a target that is a file of the source."""
        for source in {piece.path for task in self.pieces for piece in task}:
            if (
                not is_url(source)
                and os.path.exists(source)
                and os.path.exists(path)
                and os.path.samefile(source, path)
            ):
                raise ValueError(f"{os.fsdecode(path)}: expected another file than the source, found the source itself")

    @contextlib.contextmanager
    def unchanged_pieces(self, task: int, *names: str) -> Iterator[list[Piece]]:
        """Give what a task reads, if it is as it was planned, also at the end of the block, which writes ``names``.

        A file in storage that is replaced meanwhile is read in part from the old one and in part from the new.
        """
        pieces = self.pieces[place(task, len(self.pieces), "task")]
        for piece in pieces:
            piece.check()
        yield pieces
        try:
            for piece in pieces:
                piece.check()
        except BaseException:
            for name in [] if self.files.is_stored else names:  # those in storage have no name yet
                with contextlib.suppress(FileNotFoundError):
                    self.files.remove(name)
            raise


@contextlib.contextmanager
def naming_steps(steps: Mapping[str, str]) -> Iterator[None]:
    """Say in an error about one of these files what writes it again, and that the damaged one has to go first.

    A step that is repeated leaves a file in storage that is there and as large as its own, for it may be read.
    """
    try:
        yield
    except FormatError as error:
        text = str(error)
        step = next((step for path, step in steps.items() if text.startswith(f"{path}: ")), None)
        if step is None:
            raise
        advice = f"remove it and run {step} again"
        told = _REPEAT.sub(advice, text)
        raise FormatError(told if told != text else f"{text}; {advice}") from None


def place(value: int, count: int, name: str) -> int:
    """Return the number of a task or a shard, if there is such a one."""
    found = integer(value, name)
    if not 0 <= found < count:
        raise value_error(name, f"expected 0 to {count - 1}, as planned, found {found}")
    return found
