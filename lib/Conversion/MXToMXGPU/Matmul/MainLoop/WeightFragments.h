//===- WeightFragments.h - Tiles of weights in registers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that knows how a tile of weights in shared memory becomes what
// threads hold, in rows or packed.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_WEIGHTFRAGMENTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_WEIGHTFRAGMENTS_H

#include "../../KernelBuilder.h"

namespace mx::mxgpu {

/// Reads a tile of `element` from a buffer of a stage: rows and columns as
/// `layout` says. A buffer of packed weights gives those of `getPackedWeights`
/// (PackedWeights.h), which `layout` then is; nothing but the loads is an
/// instruction. `thread` may be null, as in mxgpu.load_fragment.
mlir::Value loadWeights(KernelBuilder &body, mlir::Value buffer,
                        mlir::Type element, FragmentLayoutAttr layout,
                        mlir::Value thread, bool isPacked);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_WEIGHTFRAGMENTS_H
