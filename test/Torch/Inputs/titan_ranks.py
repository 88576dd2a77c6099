"""Trains a step of a torchtitan model on two gloo processes by torchtitan's own parallelize function, for each case:
backend, ranks of tensor and of expert parallelism, type checking. Compares logits with one process."""

import types

import spmd_types
import titan_models as titan
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, distribute_tensor
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import parallel_dims, utils
from torchtitan.distributed.spmd_types import annotate_input_spmd_types
from torchtitan.models.deepseek_v3 import model_registry

from mx_compiler.torchtitan import MXGroupedExpertsConverter, MXLinearConverter

# With spmd_types, torchtitan's expert parallelism fails on gloo, also without converters.
CASES = ("partial_dtensor", 1, 2, False), ("spmd_types", 2, 1, True)


def specify():
    spec = model_registry("debugmodel", converters=[
        MXLinearConverter.Config(fqns=["layers."]), MXGroupedExpertsConverter.Config()])
    return spec, titan.shorten(spec.model)


def forward(model, tokens, **others):
    y = model(tokens, **others)
    with spmd_types.no_typecheck():
        y.float().square().mean().backward()
    return y.full_tensor() if isinstance(y, DTensor) else y


def divide(backend, tp, ep):
    """Returns the dimensions of ranks, and the model divided among them with the parameters of `alone`."""
    parallelism = ParallelismConfig(
        spmd_backend=backend, tensor_parallel_degree=tp, expert_parallel_degree=ep,
        data_parallel_shard_degree=2 // tp)
    spec, config = specify()
    config.update_from_config(config=types.SimpleNamespace(parallelism=parallelism))
    dims = parallel_dims.ParallelDims.from_config(parallelism, 2)
    dims.build_mesh()
    utils.set_spmd_backend(backend)
    training = TrainingConfig(mixed_precision_param="bfloat16")
    model = titan.initialize(spec.parallelize_fn(
        titan.build(config), parallel_dims=dims, training=training, parallelism=parallelism,
        compile_config=CompileConfig(), ac_config=None, dump_folder=""))
    with torch.no_grad():
        for mine, given in zip(model.parameters(), alone.parameters(), strict=True):
            mine.copy_(distribute_tensor(given.float(), mine.device_mesh, mine.placements))
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)      # gloo has no averages
    return dims, model


parallel_dims.device_type = "cpu"
dist.init_process_group("gloo")
rank = dist.get_rank()
alone = titan.initialize(titan.build(specify()[1])).bfloat16()
logits = forward(alone, titan.tokens())
for backend, tp, ep, checks in CASES:
    dims, model = divide(backend, tp, ep)
    rows, wanted, others = titan.tokens(), logits, {}
    if tp == 1:
        rows, wanted = rows.chunk(2)[rank], logits.chunk(2)[rank]
    elif backend == "spmd_types":       # a rank has logits of half of the vocabulary
        rows, _, others = annotate_input_spmd_types(dims, rows, rows.clone(), {})
        wanted = logits.chunk(2, -1)[rank]
    with utils.get_spmd_context(parallel_dims=dims, spmd_typechecking=checks)():
        y = forward(model, rows, **others)
    assert all(p.grad is not None and p.grad.to_local().isfinite().all() for p in model.parameters())
    apart = ((y - wanted).float().norm() / wanted.float().norm()).item()
    # Ranks of tensor parallelism round their sums to bf16 before they add them.
    assert apart < 0.01 if tp > 1 else torch.equal(y, wanted), (backend, tp, ep, apart)
    dist.barrier()
print(f"rank {rank}: right")
dist.destroy_process_group()
