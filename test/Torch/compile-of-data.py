# REQUIRES: torch
# RUN: %python_torch %s
"""Compiles models with data-dependent numbers of rows and groups with torch.compile, without graph breaks. Bits, shapes
and strides of results and gradients match the uncompiled models."""

import torch

from models_of_data import SIZES, all_layers, all_models, converted, rows, same
from reference import DEVICE

torch._dynamo.config.capture_dynamic_output_shape_ops = True


def check(model):
    call = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in SIZES:
        results = []
        for function in (call, model):
            x = rows(size).requires_grad_()
            model.zero_grad()
            y = function(x)
            y.float().square().sum().backward()
            results.append([y, x.grad, *(p.grad.clone() for p in model.parameters()
                                         if p.grad is not None)])
        same(*results)


torch.manual_seed(1)
for recipe in ("mxfp8", "mxfp4_weight_only"):
    for make in all_models():
        check(converted(make(), recipe))
for make in all_layers():
    check(make().to(DEVICE))
