"""Runs the shell steps of action.yml as GitHub does, without the upload: a fault fails the last step after the upload,
a command without a SARIF file fails before it, and mx-sim is built if it is absent.

RUN: rm -rf %t && mkdir %t && cd %t && %python %s %sim_source/action.yml %sim_source/examples
REQUIRES: yaml
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

path, examples = map(pathlib.Path, sys.argv[1:])
action = yaml.safe_load(path.read_text())
steps = action["runs"]["steps"]
assert action["runs"]["using"] == "composite" and action["inputs"]["command"]["required"] is True
assert all(("uses" in step) != ("run" in step and step["shell"] == "bash") for step in steps)
upload, = (step for step in steps if "uses" in step)
assert re.fullmatch(r"github/codeql-action/upload-sarif@[0-9a-f]{40}", upload["uses"])
work = pathlib.Path.cwd()


def run(command, search_path=os.environ["PATH"]):
    """Returns the status of each step up to the first failure, and the uploaded file, if any."""
    values = {"inputs.command": command, "inputs.upload": "true", "runner.temp": str(work),
              "github.action_path": str(path.parent), "inputs.build || format('{0}/mx-sim', runner.temp)": str(work / "built")}
    statuses, uploaded = [], None

    def value(text):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], text)

    for step in steps:
        if "uses" in step:
            assert step["if"] == "inputs.upload == 'true'"
            uploaded = pathlib.Path(value(step["with"]["sarif_file"])).read_text()
            continue
        environment = {**os.environ, "PATH": search_path, "GITHUB_OUTPUT": "output", "GITHUB_PATH": "path",
                       **{name: value(text) for name, text in step["env"].items()}}
        for file in ("output", "path"):
            pathlib.Path(file).write_text("")
        statuses.append(subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=environment).returncode)
        if statuses[-1]:
            break
        for line in pathlib.Path("output").read_text().splitlines():
            name, _, text = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = text
        search_path = ":".join([*pathlib.Path("path").read_text().splitlines(), search_path])
    return statuses, uploaded


kernel, launch = examples / "missing_fence.ptx", examples / "missing_fence.json"
fault = f'mx-sim {kernel} {launch} --sarif="$MX_SIM_SARIF"'
statuses, uploaded = run(fault)
assert statuses == [0, 0, 1] and '"ruleId": "proxy-fence"' in uploaded, statuses
clean = pathlib.Path("clean.ptx")
clean.write_text(kernel.read_text().replace("// fence", "fence"))
statuses, uploaded = run(fault.replace(str(kernel), str(clean)))
assert statuses == [0, 0, 0] and '"ruleId"' not in uploaded, statuses
assert run("true") == ([0, 2], None)

# Without mx-sim on PATH: a stub of cmake puts it into the folder of the build.
for folder in ("stubs", "built/bin"):
    (work / folder).mkdir(parents=True)
for name in ("bash", "rm"):
    (work / "stubs" / name).symlink_to(shutil.which(name))
for name in ("ninja", "sudo", "cmake"):
    (work / "stubs" / name).write_text(f'#!/bin/bash\necho {name} "$@" >> {work}/log\n'
                                       f'[ "$1" != --build ] || /bin/ln -s {shutil.which("mx-sim")} "$2/bin/mx-sim"\n')
    (work / "stubs" / name).chmod(0o755)
assert run(fault, str(work / "stubs"))[0] == [0, 0, 1]
assert (work / "log").read_text().endswith(f"cmake -S {path.parent} -B {work}/built -G Ninja -DMX_BUILD_TESTS=OFF\n"
                                           f"cmake --build {work}/built --target mx-sim\n")
