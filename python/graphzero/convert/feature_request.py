"""What a user asks of features that are converted, and which rows that makes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from graphzero._base.argument_errors import Argument, Setting, error_of, value_error
from graphzero._base.dtypes import DataType, as_data_type
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_conversion import QUANTISED, RowConversion
from graphzero.convert.row_sources.blocks import Columns, FeatureSource
from graphzero.convert.row_sources.sources import feature_source
from graphzero.convert.row_sources.text import TextFeatures
from graphzero.convert.text import refuse_own_file

# Types that are not stored, and those that hold all their numbers, or nearly all.
_STORED_AS = {"uint16": DataType.INT32, "uint32": DataType.INT64, "uint64": DataType.INT64}


_MOST_ROWS = 2**59  # as many as a data set may have nodes
_LEAST_MEMORY = 16 << 20


def row_budget(memory: int | str | None) -> int:
    """Return the bytes that a conversion of rows may hold."""
    budget = conversion_budget(memory)
    if budget < _LEAST_MEMORY:
        raise value_error("memory", f"expected at least {byte_text(_LEAST_MEMORY)}, found {byte_text(budget)}")
    return budget


@dataclass(frozen=True)
class FeatureRequest:
    """The options of ``convert_features()`` that say which rows are stored, and how."""

    dtype: Any
    shape: tuple[int, ...] | None
    source_dtype: Any
    key: str | None
    columns: Columns
    id_column: str | int | None
    num_rows: int | None
    header: bool | None
    delimiter: str | None
    skip_bad_lines: bool

    @property
    def quantised(self) -> bool:
        """Whether rows get a scale each."""
        return isinstance(self.dtype, str) and self.dtype.lower().replace("_", "-") == QUANTISED

    @property
    def stored_type(self) -> DataType | None:
        """The type that was asked for."""
        return DataType.INT8 if self.quantised else None if self.dtype is None else as_data_type(self.dtype)

    @property
    def raw_type(self) -> Any:
        """The type of raw items."""
        return self.source_dtype if self.source_dtype is not None else None if self.quantised else self.dtype

    def check(self, lookup: LabelLookup | None, threads: int | None) -> int | None:
        """Refuse what does not go together; return the number of rows, where it is known."""
        self.stored_type  # noqa: B018  # refuses what is no type
        if self.num_rows is not None and not 0 <= integer(self.num_rows, "num_rows") <= _MOST_ROWS:
            raise value_error("num_rows", f"expected 0 to 2^59, found {self.num_rows}")
        if threads is not None and integer(threads, "threads") < 1:
            raise value_error("threads", f"expected at least 1, found {threads}")
        if lookup is None:
            return self.num_rows
        if self.id_column is None:
            raise error_of(
                ValueError, Argument("ids"), ": expected ", Setting("id_column"), ", which has the labels, found none"
            )
        if self.num_rows not in (None, len(lookup)):
            raise value_error("num_rows", f"expected {len(lookup)}, the labels of {lookup.path}, found {self.num_rows}")
        return len(lookup)

    def conversion(
        self,
        source: Any,
        target: str,
        *,
        lookup: LabelLookup | None,
        memory: int,
        threads: int | None,
        part: tuple[int, int] | None = None,
        counts_before: bool = False,
    ) -> RowConversion:
        """Open a source, or a part of it, and say what becomes of its rows."""
        num_rows = self.check(lookup, threads)
        found = self._source(source, lookup, threads, part, counts_before=counts_before)
        job = RowConversion(
            found, target, self._stored_type(found), self.quantised, num_rows, self.id_column is not None, self.shape,
            memory, is_part=part is not None,
        )  # fmt: skip
        job.skip_bad_lines = self.skip_bad_lines
        job.lookup = lookup
        return job

    def _source(
        self,
        source: Any,
        lookup: LabelLookup | None,
        threads: int | None,
        part: tuple[int, int] | None,
        *,
        counts_before: bool,
    ) -> FeatureSource:
        found = feature_source(
            source, key=self.key, shape=self.shape, dtype=self.raw_type, columns=self.columns,
            id_column=self.id_column, lookup=lookup, part=part,
        )  # fmt: skip
        if found is not None:
            return found
        refuse_own_file(os.fsdecode(source))
        wanted = self.stored_type
        if wanted is None:
            such_as = Setting("dtype"), " for text, such as ", Setting("dtype", "float32")
            raise error_of(TypeError, f"{os.fsdecode(source)}: expected ", *such_as, ", found none")
        narrow = wanted in (DataType.FLOAT16, DataType.BFLOAT16) or self.quantised
        return TextFeatures(
            os.fsdecode(source),
            parse_as=DataType.FLOAT64 if narrow else wanted,
            columns=self.columns,
            id_column=self.id_column,
            lookup=lookup,
            header=self.header,
            delimiter=self.delimiter,
            skip_bad_lines=self.skip_bad_lines,
            threads=threads,
            part=part,
            counts_before=counts_before,
        )

    def _stored_type(self, source: FeatureSource) -> DataType:
        if (wanted := self.stored_type) is not None:
            return wanted
        if source.bfloat16:
            return DataType.BFLOAT16
        name = source.dtype.newbyteorder("=").name
        return _STORED_AS.get(name) or as_data_type(name)
