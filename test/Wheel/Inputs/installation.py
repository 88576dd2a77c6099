"""Virtual environment with a wheel. Dependencies come from this Python."""

import os
import pathlib
import shutil
import subprocess
import sys

NEEDS = ("numpy", "ml_dtypes", "platformdirs")


class Installation:
    """Installation in `folder`. Commands run in `folder`, outside of the source tree."""

    def __init__(self, folder, wheel):
        self.folder = pathlib.Path(folder).resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        self.python = venv / "bin" / "python"
        self.packages = next(venv.glob("lib/python*/site-packages"))
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, "install", "-q",
                        "--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile",
                        wheel], check=True)
        for name in NEEDS:
            found = pathlib.Path(__import__(name).__file__).parent
            for folder in (found, found.parent / f"{name}.libs"):  # libraries grafted by auditwheel
                if folder.exists():
                    (self.packages / folder.name).symlink_to(folder)
        # Clear the environment of the test shell: no MX_..., PYTHONPATH or build.
        self.environment = {"HOME": str(self.folder), "LANG": "C.UTF-8", "MX_QUIET": "1",
                            "PATH": f"{venv}/bin:/usr/bin:/bin"}

    def run(self, *command, status=0, stdin=None, **environment):
        """Runs a command and returns the output."""
        done = subprocess.run([str(word) for word in command], cwd=self.folder, input=stdin,
                              env={**self.environment, **environment}, text=True,
                              capture_output=True, timeout=300)
        assert done.returncode == status, (command, done)
        return done.stdout + done.stderr


def pack(sources, build, out, *wheels):
    """Packs wheels from the build, checks them, and returns their paths."""
    subprocess.run([os.path.join(sources, "scripts", "wheel"), "--built", "--out", out, *wheels],
                   check=True, env={**os.environ, "MX_BUILD": build, "MX_PYTHON": sys.executable})
    names = {"compiler": "mx_compiler-[0-9]*", "runtime": "mx_compiler_runtime-*_x86_64.whl"}
    return [next(pathlib.Path(out).glob(names[wheel])) for wheel in wheels]
