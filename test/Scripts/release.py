"""Runs scripts/release on a small repository, with a stand-in for scripts/wheel, and checks its outputs and errors. No
wheel is built; the build backend provides the metadata.

REQUIRES: wheel-runtime, numpy
TIER: slow
RUN: %python %s %mx_src %t
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

source, work = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(source / "scripts"))
sys.dont_write_bytecode = True
from release_metadata import files_of_project

FILES = ["CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", ".gitattributes",
         "cmake/commit.txt", "python/runtime/pyproject.toml", "python/runtime/README.md",
         "python/runtime/LICENSE", "scripts/release", "scripts/release_metadata.py", "scripts/wheel_metadata.py"]
repo, out = work / "repo", work / "out"
shutil.rmtree(work, ignore_errors=True)
for name in FILES:
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / name, repo / name, follow_symlinks=False)
version = re.search(r"project\(MX VERSION ([\d.]+)", (repo / "CMakeLists.txt").read_text())[1]
environment = {**os.environ, "MX_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}


def git(*words):
    return subprocess.run(["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
                          check=True, capture_output=True, text=True).stdout


def commit():
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "change")


def release(*words, **more):
    return subprocess.run([sys.executable, repo / "scripts/release", *words], capture_output=True,
                          text=True, env={**environment, **more})


def refuses(words, status, said, **more):
    done = release(*words, **more)
    assert done.returncode == status and said in done.stderr, (words, done)
    assert "Traceback" not in done.stderr and not out.exists(), done


def edit(name, old, new):
    """Returns the output of the script after a change of one file, which is restored afterwards."""
    text = (repo / name).read_text()
    assert old in text, (name, old)
    (repo / name).write_text(text.replace(old, new, 1))
    commit()

    def undo():
        (repo / name).write_text(text)
        commit()
    return undo


def refuses_edit(name, old, new, words, said):
    undo = edit(name, old, new)
    refuses(words, 1, said)
    undo()


git("init", "-q")
commit()
dry = "--dry-run", f"--out={out}"

# A dry run creates all outputs except the wheels. Without --out it keeps no file.
done = release(*dry)
assert done.returncode == 0 and not done.stderr, done
assert sorted(p.name for p in out.iterdir()) == ["NOTES.md", "SHA256SUMS", f"mx-{version}.tar.gz"]
changelog = (repo / "CHANGELOG.md").read_text()
notes = (out / "NOTES.md").read_text()
assert notes.strip() in changelog and "\n- " in notes and "## Versions" not in notes, notes
archive = out / f"mx-{version}.tar.gz"
for line in (out / "SHA256SUMS").read_text().splitlines():
    digest, name = line.split("  ")
    assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest and line in done.stdout
    assert name != "NOTES.md"  # not a file of the release
with tarfile.open(archive) as tar:
    assert set(tar.getnames()) >= {f"mx-{version}/{name}" for name in FILES}
    assert tar.extractfile(f"mx-{version}/cmake/commit.txt").read().decode().startswith(
        git("rev-parse", "HEAD").strip())
before = archive.read_bytes()
shutil.rmtree(out)
done = release("--dry-run")
assert done.returncode == 0 and done.stdout.endswith("nothing was kept\n"), done
assert not (repo / "dist").exists() and not git("status", "--porcelain")
assert hashlib.sha256(before).hexdigest() in done.stdout  # the same bytes again

# Options.
refuses(["--frobnicate"], 2, "--frobnicate")
refuses(["--dry-run", "--wheels=compiler,window"], 2, "expected --wheels of compiler, runtime, runtime-aarch64, or none, found 'window'")
(work / "full").mkdir()
(work / "full/file").touch()
refuses(["--dry-run", f"--out={work}/full"], 2, f"expected an empty folder, found {work}/full")
refuses(["--dry-run", f"--out={work}/full/file"], 2, "expected an empty folder")

# The tree, the version and the changelog.
(repo / "new.txt").touch()
refuses(dry, 1, "expected a tree without changes, found new.txt: commit them, or remove them")
(repo / "new.txt").unlink()
refuses_edit("CMakeLists.txt", f"MX VERSION {version}", "MX VERSION 7.8.9", dry,
             "expected one section '## [7.8.9] - DATE' in CHANGELOG.md, found 0")
refuses_edit("CMakeLists.txt", "project(MX", "project(MY", dry, "expected project(MX VERSION N.N.N ...)")
heading = re.search(rf"## \[{re.escape(version)}\] - .*", changelog)[0]
refuses_edit("CHANGELOG.md", heading, f"{heading}\n\n- x\n\n{heading}", dry, "found 2")
refuses_edit("CHANGELOG.md", heading, f"{heading}\n\nNothing.\n\n## [0.0.1] - 2026-01-01", dry, "expected lines '- ...'")
refuses_edit("CHANGELOG.md", heading, f"## [{version}] - soon", dry, "expected a date")
refuses_edit("CHANGELOG.md", heading, f"## [{version}] - 2026-02-30", dry, "found '2026-02-30'")
refuses_edit("CHANGELOG.md", heading, f"## [{version}] - unreleased", [f"--out={out}"], "found 'unreleased'")

# The tag.
refuses([*dry, "--tag=v7.8.9"], 1, f"expected the tag v{version}, for the version of CMakeLists.txt, found v7.8.9")
refuses([*dry, f"--tag=v{version}"], 1, "git rev-parse:")
git("tag", f"v{version}")
assert release("--dry-run", f"--tag=v{version}").returncode == 0
commit()
refuses([*dry, f"--tag=v{version}"], 1, "on the checked-out commit, found another commit")

# Metadata that the backend derives from pyproject.toml.
for old, new, said in (
        ('license = "Apache-2.0 WITH LLVM-exception"', 'license = "MIT"', "expected the license Apache-2.0 WITH LLVM-exception, found MIT"),
        ('license = "Apache-2.0 WITH LLVM-exception"', 'license = "Apache 2"', "Apache 2"),
        ('license-files = ["LICENSE"]', "license-files = []", "expected the text of the license"),
        ('"readme", "urls"', '"urls"', "'readme' must be listed in project.dynamic"),
        ('"wheel_metadata"', '"wheel_data"', "wheel_data"),
        ('  "Development Status :: 3 - Alpha",', '  "License :: OSI Approved :: Apache Software License",', "License"),
        ("torch = [", "touch = [", "expected the extras ['ptxas', 'torch'], found ['ptxas', 'touch']"),
        ('torch = ["torch>=2.10", "safetensors>=0.5"]', "torch = []", "expected the extra torch to ask for a package"),
        ('mx-opt = "', 'mx-optimizer = "', "expected the command mx-opt"),
        ('authors = [{ name = "the mx authors" }]', "", "expected author, found none"),
        ('name = "mx-compiler"', 'name = "mxc"', "expected a name of mx-compiler, mx-compiler-runtime, found mxc"),
        ("[project]", "[project", "pyproject.toml")):
    refuses_edit("pyproject.toml", old, new, dry, said)
undo = edit("python/runtime/pyproject.toml", "keywords = [", "# [")
refuses([*dry, "--wheels=runtime"], 1, "python/runtime: expected keywords, found none")
assert release("--dry-run", "--wheels=compiler").returncode == 0
undo()
refuses(dry, 1, f"{work}/python3 cannot build wheels", MX_PYTHON=f"{work}/python3")

# The extra requires the PyTorch version of scripts/torch_probe.py.
sys.path.insert(0, str(source / "scripts"))
from torch_probe import NEEDED
oldest = "torch>=" + ".".join(map(str, NEEDED["torch"]))
assert f'"{oldest}"' in (repo / "pyproject.toml").read_text(), oldest

# A complete release. The stand-in for scripts/wheel packs the metadata of the projects.
wheels = work / "wheels"
wheels.mkdir()
for name, project in ("mx_compiler", "."), ("mx_compiler_runtime", "python/runtime"):
    with zipfile.ZipFile(wheels / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, data in files_of_project(repo / project).items():
            wheel.writestr(f"{name}-{version}.dist-info/{path}", data)
(repo / "scripts/wheel").write_text(f'#!/bin/sh\necho "$@" $SOURCE_DATE_EPOCH > {work}/called\ncp {wheels}/*.whl "$2"\n')
(repo / "scripts/wheel").chmod(0o755)
(repo / "CHANGELOG.md").write_text(changelog.replace(heading, f"## [{version}] - 2026-12-01"))
commit()
two = f"--out={out}", "--wheels=compiler,runtime"
done = release(*two)
assert done.returncode == 0 and not done.stderr, done
time = git("log", "-1", "--format=%ct").strip()
assert (work / "called").read_text() == f"--out {out} compiler runtime {time}\n"
assert len((out / "SHA256SUMS").read_text().splitlines()) == 3, list(out.iterdir())
shutil.rmtree(out)
done = release(f"--out={out}", "--wheels=none")
assert done.returncode == 0 and not list(out.glob("*.whl")), done
shutil.rmtree(out)


def refuses_wheels(said, *words):
    done = release(*(words or two))
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr, done
    assert not (out / "SHA256SUMS").exists()
    shutil.rmtree(out)


refuses_wheels("expected 1 wheels, found 2", f"--out={out}", "--wheels=compiler")
made = wheels / f"mx_compiler-{version}-py3-none-any.whl"
with zipfile.ZipFile(made, "w") as wheel:
    for path, data in files_of_project(repo).items():
        wheel.writestr(f"mx_compiler-{version}.dist-info/{path}",
                       data.replace(f"\nVersion: {version}".encode(), b"\nVersion: 9.9.9"))
refuses_wheels(f"expected version {version}, as in CMakeLists.txt, found 9.9.9")
made.write_text("no archive")
refuses_wheels("expected a wheel, found")
(repo / "scripts/wheel").write_text("#!/bin/sh\nexit 1\n")
commit()
refuses_wheels("scripts/wheel failed")
