# REQUIRES: torch
# RUN: %python_torch %s %mx_src
"""If PyTorch is missing or too old, the import error names the required version. All files that state the oldest
supported version agree."""

import pathlib
import runpy
import sys

import torch

ROOT = pathlib.Path(sys.argv[1])
facts = runpy.run_path(ROOT / "python/mx_compiler/torch/requirements.py")
oldest, newest = facts["OLDEST"], facts["NEWEST"]
assert tuple(map(int, oldest.split("."))) < tuple(map(int, newest.split(".")))
for path, text in (("pyproject.toml", f'torch = ["torch>={oldest}",'),
                   ("scripts/torch_probe.py", f'"torch": ({oldest.replace(".", ", ")}),'),
                   ("docs/guide/Torch.md", f"PyTorch {oldest} to {newest}")):
    assert text in (ROOT / path).read_text(), (path, text)


def refused(text):
    for name in [name for name in sys.modules if name.startswith("mx_compiler.torch")]:
        del sys.modules[name]
    try:
        import mx_compiler.torch
    except ImportError as error:
        assert str(error).startswith(text), error
        return
    raise AssertionError("expected an ImportError")


kept = torch.nn.functional.ScalingType, torch.__version__
del torch.nn.functional.ScalingType
torch.__version__ = "2.6.0"
refused("mx_compiler.torch: expected PyTorch 2.10 or newer, found 2.6.0: pip install --upgrade")
torch.nn.functional.ScalingType, torch.__version__ = kept


class Hidden:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
    del sys.modules[name]
sys.meta_path.insert(0, Hidden())
refused("mx_compiler.torch: expected PyTorch 2.10 or newer, found none: pip install torch")
