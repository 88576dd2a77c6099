//===- MXGPUToPlan.h - Host code to launch plans ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTOPLAN_MXGPUTOPLAN_H
#define MX_CONVERSION_MXGPUTOPLAN_MXGPUTOPLAN_H

#include "mlir/Pass/Pass.h"

namespace mx::mxgpu {

#define GEN_PASS_DECL
#include "mx/Conversion/MXGPUToPlan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mx/Conversion/MXGPUToPlan/Passes.h.inc"

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXGPUTOPLAN_MXGPUTOPLAN_H
