# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fast paths of PyTorch's transformer layers, which in eval mode read the weights of their
linear layers and call a fused float kernel."""

from torch import nn

from .parameters import Replacement


# Attribute checked by the layers, and the value that disables the kernel.
_FLAGS = {nn.TransformerEncoderLayer: ("activation_relu_or_gelu", 0),
          nn.TransformerEncoder: ("use_nested_tensor", False)}
_KEPT = "_flag_before_mx"


def adjust(model):
    """Disables the fast path of layers with converted linear layers, and restores that of
    others."""
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
