# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's layers of transformers read the weights of their linear layers in eval mode,
and call one kernel of floats instead of the layers."""

from torch import nn


def disable(model):
    """Lets layers whose linear layers are not PyTorch's own call them."""
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer) and _is_converted(module):
            module.activation_relu_or_gelu = 0
        elif isinstance(module, nn.TransformerEncoder) and any(
                map(_is_converted, module.layers)):
            module.use_nested_tensor = False


def _is_converted(layer):
    return any(type(getattr(layer, name, None)) not in (nn.Linear, type(None))
               for name in ("linear1", "linear2"))
