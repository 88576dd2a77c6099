"""Checks scripts/check-layers: includes between the layers of mx point downward, and violations are reported.

RUN: %python %s %mx_src %t
"""

import pathlib
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
script = source / "scripts/check-layers"


def check(root):
    done = subprocess.run([sys.executable, script, root], capture_output=True, text=True)
    return done.returncode, done.stderr, done


status, errors, done = check(source)
assert status == 0 and not errors, done
assert int(done.stdout.split()[0]) > 500, done

shutil.rmtree(work, ignore_errors=True)
for directory in "include", "lib", "simulator/include", "simulator/lib", "runtime", "tools":
    shutil.copytree(source / directory, work / directory)
assert check(work)[0] == 0


def expect(path, line, error):
    """Checks the error for a forbidden include in `path`."""
    path = work / path
    text = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((text or "") + line + "\n")
    status, errors, done = check(work)
    assert status == 1 and error in errors, (error, done)
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


# An upward include by a public, a private and a generated header, and between .td files.
expect("lib/Target/Rates.cpp", '#include "mx/Plan/Plan.h"',
       "expected a layer below Target, found include/mx/Plan/Plan.h of Plan")
expect("lib/Conversion/Utils/HostCode.cpp", '#include "../MXToCPU/Emitter.h"',
       "expected a layer below Conversion/Utils, found lib/Conversion/MXToCPU/Emitter.h")
expect("lib/Dialect/MXGPU/IR/MXGPUTypes.cpp", '#include "mx/Conversion/MXToMXGPU/Passes.h.inc"',
       "expected a layer below Dialect/MXGPU/IR")
expect("include/mx/Dialect/MXGPU/IR/MXGPUBase.td", 'include "mx/Dialect/MX/IR/MXEnums.td"',
       "expected a layer below Dialect/MXGPU/IR, found include/mx/Dialect/MX/IR/MXEnums.td")
expect("simulator/lib/machine/Machine.h", '#include "../report/Recorder.h"',
       "expected a layer below simulator/lib/machine, found simulator/lib/report/Recorder.h")
expect("simulator/lib/clocks/Path.h", '#include "time/Chip.h"',
       "expected a layer below simulator/lib/clocks, found simulator/lib/time/Chip.h")
# An include between the compiler and the simulator.
for path, header in (("lib/Target/Rates.cpp", "mxsim/tensor/NumberFormats.h"),
                     ("include/mx/Execution/Program.h", "mxsim/Time.h"),
                     ("tools/mx-run/mx-run.cpp", "mxsim/Report.h"),
                     ("simulator/lib/machine/Machine.h", "mx/Support/FloatFormats.h")):
    expect(path, f'#include "{header}"', "expected no include between compiler and simulator "
           "but of mxsim/io, found ")
# An include between folders of one layer, and an include from an unlisted folder.
expect("lib/Conversion/MXToMXGPU/SinkScalars.cpp", '#include "../MXToCPU/Emitter.h"',
       "expected a layer below Conversion/MXToMXGPU")
expect("lib/Weather/Rain.cpp", '#include "mxsim/io/Npy.h"', "'Weather' has no layer")
# A cycle within a layer.
(work / "lib/Conversion/MXToMXGPU/Matmul/Other.h").write_text('#include "../Linalg/Other.h"\n')
expect("lib/Conversion/MXToMXGPU/Linalg/Other.h", '#include "../Matmul/Other.h"',
       "include each other in a cycle: lib/Conversion/MXToMXGPU/Linalg -> "
       "lib/Conversion/MXToMXGPU/Matmul")
