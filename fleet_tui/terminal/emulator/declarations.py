"""Cache of the emulator's parsed C declarations: pyghostty parses 80 kB of C at each import, a third of a second.

The parser's result is written as a Python module into the cache folder, with a name derived from all of its inputs, and
loaded from there the next time. Without a writable folder they are parsed each time, as pyghostty does.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import io
import os
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError

LIBRARIES = ("libghostty-vt.so", "libghostty-vt.dylib")


def load(additions: str) -> tuple[Any, Any]:
    """cffi's `ffi` with pyghostty's declarations and the additions, and the native library."""
    folder = _package()
    source = folder / "_cdef.py"
    digest = importlib.util.source_hash(source.read_bytes() + additions.encode()).hex()
    try:
        kept = paths.cache() / f"emulator_{digest}.py"
    except OSError:
        ffi = _parse(source, additions)
    else:
        ffi = _read(kept) or _make(source, additions, kept)
    return ffi, ffi.dlopen(str(_library(folder)))


def _package() -> Path:
    found = importlib.util.find_spec("pyghostty")
    if found is None or not found.submodule_search_locations:
        raise ImportError("pyghostty is not installed")
    return Path(found.submodule_search_locations[0])


def _library(folder: Path) -> Path:
    chosen = os.environ.get("PYGHOSTTY_LIB", "")
    places = [Path(chosen)] if chosen else [folder / "_lib" / name for name in LIBRARIES]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise OSError(f"{folder} has no library for this platform")
    return found


def _read(kept: Path) -> Any:
    """The cached module, if it exists and only this user can write to it."""
    try:
        state = kept.stat()
    except OSError:
        return None
    if state.st_uid != os.getuid() or state.st_mode & 0o022:
        return None
    return _execute(kept).ffi


def _execute(file: Path) -> Any:
    loader = importlib.machinery.SourceFileLoader(file.stem, str(file))
    spec = importlib.util.spec_from_loader(file.stem, loader)
    if spec is None:
        raise FleetError(f"{file} cannot be loaded", hint="remove it")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _parse(source: Path, additions: str) -> Any:
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(_execute(source).CDEF)
    ffi.cdef(additions)
    return ffi


def _make(source: Path, additions: str, kept: Path) -> Any:
    """Generate it in a process of its own: the parser's memory would otherwise stay in every holder."""
    pid = os.fork()
    if pid == 0:
        try:
            _write(source, additions, kept)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    # Nothing can be read if nothing could be written.
    return _read(kept) or _parse(source, additions)


def _write(source: Path, additions: str, kept: Path) -> None:
    from cffi import recompiler

    ffi = _parse(source, additions)
    ffi.set_source(kept.stem, None)
    module = io.StringIO()
    recompiler.make_py_source(ffi, kept.stem, module)
    # Not `system.files.replace`: terminal and system are in one layer and do not know each other.
    temporary = kept.with_name(f"{kept.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(module.getvalue())
        temporary.replace(kept)
