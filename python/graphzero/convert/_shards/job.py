"""What an engine runs: stages of steps, and then the commit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from graphzero._files.progress import Progress, watching
from graphzero.convert.step_files import StepFiles

Report = TypeVar("Report", covariant=True)


@dataclass(frozen=True)
class Step:
    """A function of the folder, some numbers, ``memory`` and ``threads``. It travels to other machines by its name."""

    run: Callable[..., None]
    details: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, (self.run.__name__, *self.details)))


@dataclass(frozen=True)
class Stage:
    """Steps that may run at the same time, when those of the stage before are done."""

    title: str
    unit: str
    steps: list[Step]


class Job(Protocol[Report]):
    """A plan, and the target that its parts become."""

    @property
    def files(self) -> StepFiles:
        """The folder of the plan."""
        ...

    def check_target(self) -> None:
        """Refuse a target that cannot be written, before any step runs."""
        ...

    def stages(self) -> Iterator[Stage]:
        """Yield the stages, each when that before is done, with the steps that have no file yet."""
        ...

    def commit(self, begin: float, threads: int | None = None) -> Report:
        """Put all parts together. The report counts the time since ``begin``."""
        ...


def run_here(
    job: Job[Report], *, begin: float, memory: int | str | None, threads: int | None, progress: Progress
) -> Report:
    """Run the steps that are not done yet in this process, one after the other."""
    job.check_target()
    for stage in job.stages():
        done: list[Any] = []
        with watching(progress, stage.title, len(stage.steps), stage.unit, functools.partial(len, done)):
            for step in stage.steps:
                step.run(job.files.folder, *step.details, memory=memory, threads=threads)
                done.append(step)
    return job.commit(begin, threads)
