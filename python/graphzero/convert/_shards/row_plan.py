"""The plan of a conversion of rows in shards: its files, and what its tasks read."""

from __future__ import annotations

import dataclasses
import errno
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphzero._base.argument_errors import Argument, Setting, error_of, type_error
from graphzero._base.dtypes import DataType, name_of
from graphzero._core import FormatError
from graphzero._files.folder import check_free_space
from graphzero._files.storage import StoredPath, path_here
from graphzero.convert._shards.pieces import Piece, pieces_of
from graphzero.convert._shards.plan import StepPlan
from graphzero.convert._shards.sealed_json import parsed, proven_checksum, sealed
from graphzero.convert._shards.shard_count import shard_count
from graphzero.convert._shards.work_folder import PLAN
from graphzero.convert.feature_request import FeatureRequest, row_budget
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_conversion import RowConversion
from graphzero.convert.row_sources.blocks import even_ranges
from graphzero.convert.row_sources.values import Tally
from graphzero.convert.step_files import StepFiles
from graphzero.convert.stored import one_stored_path

_PART = ".rows.gd"  # how names of parts end
_ADVICE = "remove it, and run again"  # for a damaged file of facts


@dataclass(frozen=True)
class FeatureShardPlan:
    """The steps of a conversion of features in shards.

    Attributes:
        folder: The folder that holds the plan, and the files that steps exchange.
        num_tasks: How many tasks ``convert_rows()`` has.
        num_parts: How many parts of the file there are.
        has_ids: Whether rows say their own places, so that ``place_rows()`` makes the parts of what tasks have read.
    """

    folder: str
    num_tasks: int
    num_parts: int
    has_ids: bool


@dataclass
class Facts:
    """What a step found, in a small file beside the one with rows."""

    num_rows: int = 0  # in the file
    num_bad: int = 0
    tally: Tally = dataclasses.field(default_factory=Tally)
    runs: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # of each part: rows and checksum
    fingerprint: int = 0  # of a file that is a part

    @classmethod
    def read(cls, content: bytes, name: str, path: str) -> Facts:
        """Return what ``written()`` made the bytes of a file of."""
        told = parsed(content, path, _ADVICE)
        proven_checksum(content, name, path, _ADVICE)
        tally, runs = Tally(**told["tally"]), [(rows, crc) for rows, crc in told["runs"]]
        return cls(told["num_rows"], told["num_bad"], tally, runs, told["fingerprint"])

    def written(self, name: str) -> bytes:
        """Return them as the bytes of a file."""
        return sealed(dataclasses.asdict(self), name)


def write_row_plan(
    source: Any, folder: str | os.PathLike[str], request: FeatureRequest, ids: Any, shards: int
) -> FeatureShardPlan:
    """Cut a file into parts, and write the plan."""
    shards = shard_count(shards)
    path = one_stored_path(source)
    if not isinstance(path, (str, os.PathLike)):
        raise type_error(
            "source", f"expected a file for a conversion in shards, found {type(source).__name__}; write it to one"
        )
    path = path_here(path)
    refuse_other_files(path)
    lookup = None if ids is None else LabelLookup(ids)
    job = request.conversion(path, path, lookup=lookup, memory=row_budget(None), threads=None)
    has_ids = request.id_column is not None
    if has_ids and job.num_rows is None:
        raise error_of(
            ValueError, Argument("num_rows"), ": expected the number of rows with ", Setting("id_column"), " and ",
            Setting("shards", shards), ", as parts are cut before ids are read, found none",
        )  # fmt: skip
    files = StepFiles(folder)
    files.make()
    if has_ids and not files.is_stored:  # where all parts are at the same time
        check_free_space(os.path.join(files.folder, PLAN), (job.num_rows or 0) * job.row_bytes)
    told = dataclasses.asdict(request)
    told["dtype"] = job.stored_name if request.dtype is not None else None
    told["source_dtype"] = _type_name(request.raw_type)
    for name in ("shape", "columns", "id_column", "num_rows"):
        told[name] = _plain(getattr(request, name))
    RowPlan.write(
        files,
        [[piece] for piece in pieces_of(path, job.source.ranges(shards))],
        {
            "name": job.source.name,
            "request": told,
            "ids": None if lookup is None else [os.path.abspath(lookup.path), lookup.fingerprint],
            "parts": even_ranges(job.num_rows or 0, shards) if has_ids else None,
            "stored": job.stored_name,
            "row_shape": job.row_shape,
            "num_rows": _plain(job.num_rows if job.num_rows is not None else job.source.num_rows),
            "bytes_in": job.bytes_in(dry_run=True),
            "measures": job.values.measures,
        },
    )
    return RowPlan(files.folder).plan


def _type_name(given: Any) -> str | None:
    """Return the type of raw items as a plan keeps it."""
    if given is None:
        return None
    if isinstance(given, DataType):
        return name_of(given)
    name = str(given).removeprefix("torch.")
    return name if name == "bfloat16" else np.dtype(given).str


def _plain(value: Any) -> Any:
    """Return columns and extents as JSON has them."""
    if value is None or isinstance(value, (str, int)):
        return value
    return int(value) if isinstance(value, np.integer) else [_plain(item) for item in value]


def refuse_other_files(source: Any, target: str | None = None) -> None:
    """Refuse a folder, and a target that is the source."""
    if isinstance(source, (str, os.PathLike)) and not isinstance(source, StoredPath):
        if os.path.isdir(source):
            raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file of features", os.fsdecode(source))
        if target is not None and os.path.exists(target) and os.path.samefile(source, target):
            raise ValueError(f"{target}: expected another file than the source, found the source itself")


class RowPlan(StepPlan):
    """What ``plan_features()`` wrote."""

    kind = "features"
    maker = "plan_features"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        told = dict(self.told["request"])
        told["shape"] = None if told["shape"] is None else tuple(told["shape"])
        self.request = FeatureRequest(**told)
        ranges = self.told["parts"]
        self.ranges = None if ranges is None else [(begin, end) for begin, end in ranges]
        self.num_parts = len(self.pieces) if self.ranges is None else len(self.ranges)
        self.plan = FeatureShardPlan(self.folder, len(self.pieces), self.num_parts, self.ranges is not None)

    def part(self, number: int) -> str:
        """Return the file with the rows of a part."""
        return self.name(f"rows-{number:06d}", _PART)

    def records(self, task: int) -> str:
        """Return the file with the rows of a task, which are still to be placed."""
        return self.name(f"task-{task:06d}", ".records")

    def is_done(self, name: str) -> bool:
        """Whether a step has written its file of rows, and what it found."""
        return self.are_there(name, _facts_name(name))

    def expect(self, name: str, step: str) -> None:
        """Refuse if the step that writes a file of rows did not run."""
        for own in (name, _facts_name(name)):
            self.files.expect(own, step)

    def finish(self, name: str, scratch: str, facts: Facts) -> None:
        """Bring a file of rows to its place, and what was found."""
        self.files.finish(name, scratch)
        if name.endswith(_PART):
            facts.fingerprint = self.files.header(name).fingerprint
        own = _facts_name(name)
        self.files.replace(own, facts.written(own))

    def facts(self, name: str) -> Facts:
        """Return what was found beside a file of rows."""
        own = _facts_name(name)
        return Facts.read(self.files.read(own), own, self.files.path(own))

    @cached_property
    def lookup(self) -> LabelLookup | None:
        """The dictionary in which labels are looked up, if there is one."""
        if self.told["ids"] is None:
            return None
        path, fingerprint = self.told["ids"]
        found = LabelLookup(path)
        if found.fingerprint != fingerprint:
            raise FormatError(f"{path}: expected the dictionary as it was planned, found another; plan it again")
        return found

    def conversion(
        self, piece: Piece, memory: int, threads: int | None, *, counts_before: bool = False
    ) -> RowConversion:
        """Return the rows of a piece."""
        return self.request.conversion(
            piece.source, piece.source, lookup=self.lookup, memory=memory, threads=threads, part=piece.range,
            counts_before=counts_before,
        )  # fmt: skip


def _facts_name(name: str) -> str:
    return name.removesuffix(_PART).removesuffix(".records") + ".rows.json"
