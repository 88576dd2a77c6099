"""Checks the report of python -m mx_compiler with and without a GPU, a compiler, PyTorch and the runtime, and with
drivers broken in several ways. The command must always end with a status and, if mx does not work, a remedy.

RUN: %python %s %mx_libs/libmx_runtime%shlibext %mx_obj/unittests/libMXFakeCuda%shlibext %t -- %cxx
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from work_folder import enter, write

runtime, fake_driver, work = sys.argv[1:4]
cxx = sys.argv[5:]
enter(work)
CLEAN = {name: value for name, value in os.environ.items() if name not in ("MX_DEVICE", "MX_CHIP", "MX_PTXAS")}
# Hide PyTorch from the child processes, because its import dominates the run time.
write("sitecustomize.py", "import sys\nsys.modules['torch'] = None\n")
CLEAN.update(MX_CUDA_DRIVER="/no/such/libcuda.so", MX_CACHE_DIR=os.path.abspath("cache"), MX_PTXAS="none",
             PYTHONPATH=os.pathsep.join([os.getcwd(), os.environ["PYTHONPATH"]]))


def doctor(status, *words, **environment):
    done = subprocess.run([sys.executable, "-W", "error", "-m", "mx_compiler", *words], capture_output=True,
                          text=True, timeout=300, env={**CLEAN, **environment})
    assert done.returncode == status, done
    assert bool(done.stderr) == bool(status) and done.stderr.count("\n") <= 1, done.stderr
    return done.stdout, done.stderr


def facts(status, **environment):
    """Returns the JSON report, after checking that its verdict matches the status."""
    text, advice = doctor(status, "--json", **environment)
    found = json.loads(text)
    assert found["works"] == (status == 0) and found["advice"] == (advice.strip() or None), found
    return found


# No GPU, no PyTorch, no ptxas: the simulator works.
text, _ = doctor(0)
lines = dict(line.split(maxsplit=1) for line in text.splitlines()[:-1])
assert list(lines) == ["mx", "python", "runtime", "calls", "compiler", "driver", "GPU", "simulator", "ptxas", "cache", "torch",
                       "default"], text
assert "numpy" in lines["python"] and lines["runtime"] == runtime
assert lines["calls"] in (os.path.join(os.path.dirname(runtime), "mx_calls.abi3.so"),
                          "PyTorch calls use ctypes, without mx_calls.abi3.so"), lines
assert doctor(0, MX_EXTENSION="none")[0].splitlines()[3].endswith("use ctypes, without mx_calls.abi3.so")
assert lines["driver"].startswith("none: /no/such/libcuda.so") and lines["GPU"] == "none"
assert lines["simulator"] == "runs sm_90a, sm_100a, sm_103a, sm_120a and sm_121a"
assert lines["ptxas"] == "none, as set by MX_PTXAS: the driver assembles programs when they are loaded"
assert lines["cache"] == f"{os.path.abspath('cache')}: 0 programs, 0.0 of 1024 MB"
assert lines["torch"] == "not installed: mx_compiler.torch needs it"
assert lines["default"].startswith("sim, programs for sm_100a: no CUDA driver: cannot load /no/such/libcuda.so")
assert text.splitlines()[-1].startswith("works: compiled and ran a program on sim in ")
found = facts(0, MX_CHIP="sm_90a", MX_DEVICE="sim")
assert found["default"]["chip"] == "sm_90a" and found["why"] == "MX_DEVICE=sim selects it", found
assert found["environment"]["MX_CHIP"] == "sm_90a" and found["torch"] is None and found["gpus"] == []
assert facts(0, MX_DEVICE="cpu")["default"]["device"] == "cpu"

# Programs in the cache, and an invalid cache folder.
os.makedirs("cache")
pathlib.Path("cache/a.mxp").write_bytes(bytes(3_000_000))
assert facts(0)["cache"] == {"folder": os.path.abspath("cache"), "programs": 1, "bytes": 3_000_000, "limit": 1_024_000_000}
assert "expected a number" in facts(0, MX_CACHE_MEGABYTES="many")["cache"]["error"]

# Assemblers, working and broken.
write("ptxas", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\necho sm_90a\n"
      "for word; do [ \"$next\" ] && echo cubin >\"$word\"; next=; [ \"$word\" = -o ] && next=1; done; true\n")
write("broken", "#!/bin/sh\necho broken >&2; exit 1\n")
for name in "ptxas", "broken":
    os.chmod(name, 0o755)
assert facts(0, MX_PTXAS=os.path.abspath("ptxas"))["ptxas"]["found"] == [
    {"file": os.path.abspath("ptxas"), "cuda": "13.0", "knows": ["sm_90a"]}]
for name in "/no/such/ptxas", os.path.abspath("broken"):
    found = facts(1, MX_PTXAS=name)
    assert "error" in found["ptxas"]["found"][0], found
    assert name in found["advice"] and "set MX_PTXAS=none: programs work without" in found["advice"], found

# Without the compiler, the runtime still runs programs. The report's example then copies an array.
os.makedirs("alone")
shutil.copy(os.path.realpath(runtime), "alone/libmx_runtime.so")
found = facts(0, MX_RUNTIME=os.path.abspath("alone/libmx_runtime.so"))
assert "has no compiler" in found["compiler"]["error"] and found["default"]["did"] == "copied an array"
# No runtime, and an invalid runtime.
for path, says in (("/no/such/libmx_runtime.so", "cannot load the runtime of mx"),
                   (os.path.abspath("ptxas"), "cannot load the runtime of mx")):
    found = facts(1, MX_RUNTIME=path)
    assert says in found["advice"] and "Set MX_RUNTIME" in found["advice"], found

# MX_DEVICE requires a GPU.
text, advice = doctor(1, MX_DEVICE="cuda")
assert "works: " not in text and advice.startswith("mx does not work with MX_DEVICE=cuda: MX_DEVICE: no CUDA driver")
found = facts(1, MX_DEVICE="cuda")
assert "does not work with MX_DEVICE=cuda: " in found["advice"] and "no CUDA driver" in found["advice"]
assert "found 'gpu': a GPU is cuda or cuda:N" in facts(1, MX_DEVICE="gpu")["advice"]

# PyTorch is too old, broken, or ends its process.
write("sitecustomize.py", "")
os.makedirs("torches")
for text, says in (("raise RuntimeError('no such kernel')", "no such kernel"),
                   ("import os; os.abort()", "its process was ended by SIGABRT"),
                   ("__version__ = '2.6.0'\nclass version: cuda = None\nclass cuda: device_count = staticmethod(int)\n"
                    "class nn: functional = None", "expected PyTorch 2.10 or newer, found 2.6.0")):
    write("torches/torch.py", text)
    path = os.pathsep.join([os.path.abspath("torches"), CLEAN["PYTHONPATH"]])
    found = facts(0, PYTHONPATH=path)
    assert says in found["torch"]["error"], found["torch"]
write("sitecustomize.py", "import sys\nsys.modules['torch'] = None\n")

# The driver is not a library, or a library with only a version function.
write("text.so", "not a library")
found = facts(0, MX_CUDA_DRIVER=os.path.abspath("text.so"))
assert "no CUDA driver" in found["no_gpu"] and "error" in found["driver"]


def build(name, code, *libraries):
    write(f"{name}.cpp", code)
    subprocess.run([*cxx, "-shared", "-fPIC", f"{name}.cpp", "-Wl,--no-as-needed", *libraries,
                    f"-Wl,-rpath,{os.path.dirname(fake_driver)}", "-o", f"{name}.so"], check=True)
    return os.path.abspath(f"{name}.so")


found = facts(0, MX_CUDA_DRIVER=build("part", 'extern "C" int cuDriverGetVersion(int *v) { *v = 13000; return 0; }'))
assert found["driver"]["cuda"] == "13.0" and "(CUDA 13.0) has no cu" in found["no_gpu"], found
# The first function of a complete driver fails, ends the process, or does not return.
INIT = '#include <cstdlib>\n#include <unistd.h>\nextern "C" int cuInit(unsigned) { %s }'
found = facts(0, MX_CUDA_DRIVER=build("fails", INIT % "return 999;", fake_driver))
assert "the CUDA driver cannot be used: CUDA_ERROR_999" in found["no_gpu"] and found["driver"]["cuda"] == "12.8", found
found = facts(1, MX_CUDA_DRIVER=build("ends", INIT % "abort();", fake_driver))
assert found["no_gpu"] == found["default"]["error"] == "its process was ended by SIGABRT", found
assert "Until it does, set MX_DEVICE=sim: the simulator works here" in found["advice"], found["advice"]
assert facts(0, MX_CUDA_DRIVER=os.path.abspath("ends.so"), MX_DEVICE="sim")["gpus"] == []
mute = build("mute", INIT % "for (;;) pause();", fake_driver)
IMPATIENT = """import sys
from mx_compiler._doctor import facts, report
facts.SECONDS = 15
sys.exit(report.main([]))
"""
done = subprocess.run([sys.executable, "-c", IMPATIENT], capture_output=True, text=True, timeout=300,
                      env={**CLEAN, "MX_CUDA_DRIVER": mute})
assert done.returncode == 1 and "no answer within 15 s. Until it does, set MX_DEVICE=sim" in done.stderr, done

# A GPU that is present but computes nothing.
found = facts(1, MX_CUDA_DRIVER=fake_driver)
gpu = found["gpus"][0]
assert (gpu["device"], gpu["name"], gpu["capability"], gpu["runs"]) == ("cuda:0", "Fake GPU", "sm_90", ["sm_90a"]), gpu
assert found["no_gpu"] is None and "set MX_DEVICE=sim: the simulator works here" in found["advice"], found
