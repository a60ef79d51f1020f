"""Modules that load when a name of theirs is first used. A fork waits for them."""

# With it comes logging. Both take locks before a fork, which an import may need: what is registered last is done first.
import concurrent.futures.thread  # noqa: F401
import os
import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

# Seconds. A fork goes on without an import that takes longer: it may be waiting for the thread that forks.
PATIENCE = 60.0

# The extra that installs a module.
_EXTRAS = {"torch": "torch", "torch_geometric": "pyg"}

_changed = threading.Condition()
_loading: set[int] = set()  # the threads that are in load()


def load(name: str) -> ModuleType:
    """Import a module. If a library is missing that an extra installs, the error says which.

    A child that is forked meanwhile, by another thread, would wait for ever as soon as it needs the module: the lock of
    the import is held by a thread that it does not have.
    """
    here = threading.get_ident()
    with _changed:
        outermost = here not in _loading
        _loading.add(here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        who = "this" if name == error.name else name
        raise ImportError(f"{who} needs {error.name}: pip install 'graphzero[{extra}]' ({error})") from error
    finally:
        if outermost:
            with _changed:
                _loading.discard(here)
                _changed.notify_all()


def _before_fork() -> None:
    _changed.acquire()  # no thread begins to load until the fork is over
    here = {threading.get_ident()}
    _changed.wait_for(lambda: _loading <= here, timeout=PATIENCE)


def _in_child() -> None:
    _loading.intersection_update({threading.get_ident()})
    _changed.release()


if sys.platform != "win32":  # which does not fork
    os.register_at_fork(before=_before_fork, after_in_parent=_changed.release, after_in_child=_in_child)


class _OldModules:
    """The last finder, for modules that no other finds: pickles name modules as they were called then."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("graphzero."):
            return None
        from graphzero._base.old_modules import old_module

        return old_module(name)


sys.meta_path.append(_OldModules)
