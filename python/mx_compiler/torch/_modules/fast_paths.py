# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Controls the fast paths of PyTorch's transformer layers. In eval mode, these layers read the
weights of their linear layers and call a fused float kernel."""

from torch import nn

from .parameters import Replacement


# Attribute that the layers check, and the value that disables the kernel.
_FLAGS = {nn.TransformerEncoderLayer: ("activation_relu_or_gelu", 0),
          nn.TransformerEncoder: ("use_nested_tensor", False)}
_KEPT = "_flag_before_mx"


def adjust(model):
    """Disables the fast path of transformer layers with converted linear layers, and restores the
    fast path of the other layers."""
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
