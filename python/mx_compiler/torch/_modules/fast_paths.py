# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's layers of transformers read the weights of their linear layers in eval mode,
and call one kernel of floats instead of the layers."""

from torch import nn

from .parameters import Replacement


# What the layers look at, and what forbids the kernel.
_FLAGS = {nn.TransformerEncoderLayer: ("activation_relu_or_gelu", 0),
          nn.TransformerEncoder: ("use_nested_tensor", False)}
_KEPT = "_flag_before_mx"


def adjust(model):
    """Lets layers whose linear layers are not PyTorch's own call them, and others do
    what they did before."""
    for module in model.modules():
        for cls, (flag, forbids) in _FLAGS.items():
            if isinstance(module, cls):
                layers = getattr(module, "layers", (module,))
                if any(map(_is_converted, layers)):
                    module.__dict__.setdefault(_KEPT, getattr(module, flag))
                    setattr(module, flag, forbids)
                elif _KEPT in module.__dict__:
                    setattr(module, flag, module.__dict__.pop(_KEPT))


def _is_converted(layer):
    return any(isinstance(getattr(layer, name, None), Replacement)
               for name in ("linear1", "linear2"))
