"""Random experts of gpt-oss in the layout of a checkpoint."""

import torch

from mx_compiler.torch import MXWeightOnlyGptOssExperts, gpt_oss


class Tensors(gpt_oss.Checkpoint):
    """Checkpoint of a layer in memory."""

    def __init__(self, sizes, tensors):
        self.layer, self.tensors = sizes, tensors

    def sizes(self, layer):
        return self.layer

    def read(self, key, *_):
        return self.tensors[key.rpartition(".")[2]]


def make_experts(sizes, scales, device, **options):
    """Creates experts with scales in [scales[0], scales[1]). Returns them and the tensors of the checkpoint."""
    generator = torch.Generator(device).manual_seed(0)
    tensors = {}
    for name, (shape, dtypes) in gpt_oss.expert_tensors(sizes).items():
        if name.endswith("_bias"):
            tensors[name] = torch.randn(shape, generator=generator, device=device).bfloat16()
        else:
            limits = scales if name.endswith("_scales") else (0, 256)
            tensors[name] = torch.randint(*limits, shape, generator=generator, device=device, dtype=torch.uint8)
    return MXWeightOnlyGptOssExperts.from_checkpoint(Tensors(sizes, tensors), 0, device=device, **options), tensors
