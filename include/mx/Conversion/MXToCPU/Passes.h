//===- Passes.h - Passes of the CPU reference path --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that lower bufferized mx operations to the LLVM dialect of the host.
// `mx::buildMXToCPUPipeline` runs them in order.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOCPU_PASSES_H
#define MX_CONVERSION_MXTOCPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mx {

#define GEN_PASS_DECL
#include "mx/Conversion/MXToCPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mx/Conversion/MXToCPU/Passes.h.inc"

} // namespace mx

#endif // MX_CONVERSION_MXTOCPU_PASSES_H
