"""Models of torchtitan's registry, small enough for the host: two layers, attention without flex_attention, which needs
a GPU."""

import sys

import torch
import torch.distributed.fsdp as fsdp
from reference import DEVICE

if not hasattr(fsdp, "DataParallelMeshDims"):
    print("skipped: models of torchtitan 0.3 need PyTorch 2.12")
    sys.exit(0)

from torchtitan.models.common.attention import FlexAttention, ScaledDotProductAttention  # noqa: E402


def shorten(config):
    """Keeps two layers of the config of a model, and replaces flex_attention. Returns the config."""
    config.layers = config.layers[:2]
    for _, _, parent, attribute in [*config.traverse(FlexAttention.Config)]:
        setattr(parent, attribute, ScaledDotProductAttention.Config())
    return config


def initialize(model):
    """Gives a model without storage the device, and random weights as torchtitan does."""
    model.verify_module_protocol()
    model.to_empty(device=DEVICE)
    torch.manual_seed(0)
    with torch.no_grad():
        model.init_states()
        model.lm_head.weight.normal_(std=0.05)
    return model.train()


def build(config):
    with torch.device("meta"):
        return config.build()


def tokens(rows=2):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 2048, (rows, 40), generator=generator).to(DEVICE)
