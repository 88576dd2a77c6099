//===- TensorMaps.h - Tensor maps of the driver -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions to Target's tensor map fields, for host code and launch plans.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_TENSORMAPS_H
#define MX_DIALECT_MXGPU_IR_TENSORMAPS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/TensorMap.h"
#include <optional>

namespace mx::mxgpu {

/// Returns the driver's element type for a map. Types that the driver lacks are
/// encoded as bytes, which suffices for copies but not for additions.
std::optional<target::TensorMapType> getMapType(TensorMapType map);

mx::Swizzle toSwizzle(mxgpu::Swizzle swizzle);

target::TensorMapL2 getMapL2(L2Promotion promotion);

/// Value of elements outside the tensor.
inline constexpr target::TensorMapFill kMapFill = target::TensorMapFill::Zero;

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_TENSORMAPS_H
