//===- Passes.h - The passes and pipelines of this compiler -----*- C++ -*-===//

#ifndef MY_PASSES_H
#define MY_PASSES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace my {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Passes.h.inc"

/// Registers the pipelines `my-quantize` and `my-to-nvvm`.
void registerMyPipelines();

} // namespace my

#endif // MY_PASSES_H
