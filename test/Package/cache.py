"""Tests the disk cache of mx.compile. A second process does not load the compiler. Damaged files are compiled again. A
folder that others can write causes a warning. The least recently used files are evicted. Threads and processes do not
disturb each other. Processes run `cache.py DIRECTORY run FOLDER NAME`.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_CHIP= MX_PTXAS= MX_CACHE_MEGABYTES= %python -W error %s %t
"""

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest.mock
import warnings

import mx_compiler as mx
import numpy as np
from mx_compiler import library
from mx_compiler._compile import cache, compile as compilation, identity
from refuses import refuses
from threads import in_threads

folder = pathlib.Path(sys.argv[1])
TEXT = """
func.func @add(%x: tensor<?x${n}xf32>) -> tensor<?x${n}xf32> {
  %y = arith.addf %x, %x : tensor<?x${n}xf32>
  return %y : tensor<?x${n}xf32>
}
"""


def use(program, n=8):
    x = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    assert np.array_equal(program["add"](x)[0], x + x)


def compile_here(**options):
    return mx.compile(TEXT, **{"n": 8, "ptxas": "none", **options})


def forget():
    """Clears the in-memory caches of this process."""
    compilation._memory.clear()


@contextlib.contextmanager
def counting():
    """Counts compilations."""
    calls, real = [], compilation.compile_parts

    def count(*arguments, **options):
        calls.append(options)
        return real(*arguments, **options)

    compilation.compile_parts = count
    try:
        yield calls
    finally:
        compilation.compile_parts = real


def has_compiler():
    return os.path.basename(library.compiler_path()) in pathlib.Path("/proc/self/maps").read_text()


mx.set_device("sim")
if sys.argv[2:]:
    # Another process: reports whether it loaded the compiler, and its duration.
    begin = time.perf_counter()
    program = compile_here(cache=pathlib.Path(sys.argv[3]))
    seconds = time.perf_counter() - begin
    use(program)
    print(json.dumps({"compiled": has_compiler(), "seconds": seconds}))
    sys.exit()


def run_many(where, count):
    command = [sys.executable, "-W", "error", __file__, str(folder), "run", str(where)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    found = [json.loads(p.communicate()[0]) for p in processes]
    assert not any(p.returncode for p in processes)
    return found


# --- Hits -------------------------------------------------------------------------

kept = folder / "kept"
with counting() as calls:
    use(compile_here(cache=kept))
    assert len(calls) == 1
    use(compile_here(cache=kept))  # from memory
    forget()
    use(compile_here(cache=kept))  # from disk
    assert len(calls) == 1
    # The key covers everything that a program depends on.
    for other in ({"n": 16}, {"chip": "sm_90a"}, {"fuse": False}, {"entries": ["add"]},
                  {"pipeline": "builtin.module(canonicalize)"}, {"ptxas": "/bin/false"}):
        before = len(calls)
        try:
            compile_here(cache=kept, **other)
        except mx.CompileError:
            assert "ptxas" in other
        assert len(calls) == before + 1, other
    before = len(calls)
    use(compile_here(cache=False))
    use(compile_here(cache=False))
    assert len(calls) == before + 2
file, = [p for p in kept.iterdir() if compilation._memory and p.stem in compilation._memory and
         cache.load(kept, p.stem)["manifest.json"].find(b"sm_90a") > 0]
parts = cache.load(kept, file.stem)
assert set(parts) == {"manifest.json", "kernels.ptx", "program.h"}
# A second process does not load the compiler.
found, = run_many(kept, 1)
assert not found["compiled"] and found["seconds"] < 0.5, found

# The build of the compiler is in the key.
assert identity.read_build_id(library.compiler_path()) == identity.identify_library(library.compiler_path())
assert identity.read_build_id(library.compiler_path()) != identity.read_build_id(library.candidates()[0])
plain = folder / "plain"
plain.write_bytes(b"no ELF")
assert identity.read_build_id(plain) is None and len(identity.identify_library(plain)) == 64

# --- Damage -----------------------------------------------------------------------

file, = [p for p in kept.iterdir() if "tensor<?x16xf32>" in str(cache.load(kept, p.stem))]
data = file.read_bytes()
for damaged in (b"", data[:31], data[:-1], data[:100] + bytes([data[100] ^ 1]) + data[101:],
                bytes(32) + data[32:]):
    file.write_bytes(damaged)
    assert cache.load(kept, file.stem) is None and not file.exists()
    forget()
    with counting() as calls:
        use(compile_here(cache=kept, n=16), 16)
    assert len(calls) == 1 and file.read_bytes() == data

# A file with a matching hash is damaged if it is not an archive, contains other files, or contains an invalid manifest
# or a damaged member.
def hashed(rest):
    return hashlib.sha256(rest).digest() + rest


def archive(**files):
    return cache.pack(files)[32:]


whole = data[32:]
for rest in (b"", b"no archive", whole[:-30], archive(), archive(other=b"x"),
             archive(**{"manifest.json": b"no JSON"}), archive(**{"manifest.json": b"[]"}),
             archive(**{"manifest.json": b'{"target": 7}'}),
             # Program.save would write these members outside of its folder.
             *(archive(**{"manifest.json": b'{"target": "x"}', name: b"x"})
               for name in ("../x", "/tmp/x", "a/x", "..")),
             whole.replace(b"sm_100a", b"sm_100b", 1)):
    file.write_bytes(hashed(rest))
    assert cache.load(kept, file.stem) is None and not file.exists(), rest
    forget()
    with counting() as calls:
        use(compile_here(cache=kept, n=16), 16)
    assert len(calls) == 1 and file.read_bytes() == data

# A pipe instead of a file does not block the process.
file.unlink()
os.mkfifo(file)
forget()
with counting() as calls:
    use(compile_here(cache=kept, n=16), 16)
assert len(calls) == 1 and file.read_bytes() == data

# A folder writable by others causes one warning, regardless of its owner, but is used.
shared = folder / "shared"


def warnings_of(mode, n, place=shared, parent=0o755):
    shared.mkdir(exist_ok=True)
    place.mkdir(exist_ok=True)
    place.chmod(mode)
    if place != shared:
        shared.chmod(parent)
    cache._find_others.cache_clear()
    forget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(compile_here(cache=place, n=n), n)
        forget()
        use(compile_here(cache=place, n=n), n)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


assert not warnings_of(0o700, 8) and not warnings_of(0o755, 8)
for mode in (0o777, 0o1777):
    cache._warned.clear()
    text, = warnings_of(mode, 8)
    assert text.startswith(f"mx_compiler: {shared}: expected a program folder") and "everyone" in text, text
    assert "MX_CACHE_DIR" in text
# A folder in a world-writable folder causes the warning too, unless the sticky bit protects its files.
inner = shared / "inner"
cache._warned.clear()
text, = warnings_of(0o700, 16, inner, parent=0o777)
assert f"the permissions of {shared} let everyone" in text, text
assert not warnings_of(0o700, 16, inner, parent=0o1777)
# Folders writable by another group, and folders owned by another user.
with unittest.mock.patch.object(cache, "_is_own_unix_group", lambda group: False):
    text, = warnings_of(0o775, 24)
assert "let the Unix group" in text, text
with unittest.mock.patch.object(cache, "_is_own_unix_group", lambda group: True):
    assert not warnings_of(0o775, 24)
with unittest.mock.patch.object(os, "getuid", lambda: os.stat(folder).st_uid + 1):
    with unittest.mock.patch.object(cache, "ROOT", -1):
        text, = warnings_of(0o700, 32)
assert "belongs to the user" in text, text

# An unwritable folder causes one warning, and compilation still works.
plain.write_bytes(b"a file")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in (24, 32):
        use(compile_here(cache=plain, n=n), n)
text, = [str(w.message) for w in caught]
assert text.startswith(f"mx_compiler: {plain}: cannot keep compiled programs: "), text
assert "MX_CACHE_DIR" in text and caught[0].filename == __file__

# --- Limits -----------------------------------------------------------------------

few = folder / "few"
size = len(data)
os.environ["MX_CACHE_MEGABYTES"] = str(3.5 * size / 1e6)
keys = ["a" * 64, "b" * 64, "c" * 64, "d" * 64]
parts = cache.unpack(data)
for age, key in enumerate(keys[:3]):
    cache.store(few, key, parts)
    os.utime(few / (key + cache.SUFFIX), (age + 1, age + 1))
assert cache.load(few, keys[0])  # now the most recently used
abandoned, begun = few / ("x" + cache.BEGUN), few / ("y" + cache.BEGUN)
for path in abandoned, begun:
    path.write_bytes(b"half")
os.utime(abandoned, (1, 1))
cache.store(few, keys[3], parts)
assert {p.stem for p in few.iterdir()} == {keys[0], keys[2], keys[3], "y"}
os.environ["MX_CACHE_MEGABYTES"] = "0"  # disables the cache
forget()
with counting() as calls:
    use(compile_here(cache=folder / "nothing"))
assert len(calls) == 1 and not (folder / "nothing").exists()
os.environ["MX_CACHE_MEGABYTES"] = "many"
forget()
refuses(ValueError, "MX_CACHE_MEGABYTES: expected a number of at least 0, found 'many'",
        lambda: compile_here(cache=folder / "nothing"))
del os.environ["MX_CACHE_MEGABYTES"]

# --- Concurrency ------------------------------------------------------------------

forget()
with counting() as calls:
    # The threads share some of the programs.
    def work(i):
        n = (8, 8, 40, 8, 48, 8)[i]
        use(compile_here(cache=folder / "threads", n=n), n)

    in_threads(work, 6)
assert len(calls) == 3, calls
found = run_many(folder / "processes", 3)
assert any(each["compiled"] for each in found)
assert [p.suffix for p in (folder / "processes").iterdir()] == [cache.SUFFIX]

# --- Location ---------------------------------------------------------------------

os.environ["MX_CACHE_DIR"] = str(folder / "named")
assert cache.directory() == folder / "named" and cache.directory(kept) == kept
del os.environ["MX_CACHE_DIR"]
os.environ["XDG_CACHE_HOME"] = str(folder / "home")
assert cache.directory() == folder / "home" / "mx_compiler"
# The same folders without platformdirs, which is optional in a checkout.
os.environ["HOME"] = str(folder / "user")
found = {}
for is_missing in False, True:
    if is_missing:
        sys.modules["platformdirs"] = None
    for name in str(folder / "home"), "", "relative", None:
        os.environ.pop("XDG_CACHE_HOME", None)
        if name is not None:
            os.environ["XDG_CACHE_HOME"] = name
        place = cache.directory()
        assert place == (folder / "home" if name and name[0] == "/" else
                         folder / "user" / ".cache") / "mx_compiler", (is_missing, name, place)
    # A user without a home, as in containers with arbitrary user ids.
    with unittest.mock.patch.dict(os.environ), \
            unittest.mock.patch("pwd.getpwuid", side_effect=KeyError):
        del os.environ["HOME"]
        with tempfile.TemporaryDirectory() as shared, unittest.mock.patch("tempfile.tempdir", shared):
            own = pathlib.Path(shared, f"mx_compiler-{os.getuid()}")
            assert cache.directory() == own and cache.directory() == own
            # Folders that others may have created are not used.
            spoils = [lambda: own.chmod(0o777), lambda: (own.rmdir(), own.symlink_to(folder))]
            if os.getuid() == 0:
                spoils.insert(0, lambda: os.chown(own, 4242, -1))
            for spoil in spoils:
                spoil()
                other = cache.directory()
                assert other != own and other.stat().st_mode & 0o777 == 0o700, other
                assert cache.directory() == other
forget()
use(compile_here(n=24), 24)
assert [p.suffix for p in (folder / "user" / ".cache" / "mx_compiler").iterdir()] == [cache.SUFFIX]
