//===- TensorMaps.h - Tensor maps of the driver -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Conversions to the tensor map fields of Target, for host code and launch
// plans.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_TENSORMAPS_H
#define MX_DIALECT_MXGPU_IR_TENSORMAPS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/TensorMap.h"
#include <optional>

namespace mx::mxgpu {

/// Returns the driver's element type of a map. Elements that are copied, but
/// not added, may be encoded as bytes.
std::optional<target::TensorMapType> getMapType(TensorMapType map);

/// Converts a swizzle to the form of descriptors of maps and operands.
mx::Swizzle toSwizzle(mxgpu::Swizzle swizzle);

/// Converts the L2 promotion to the driver's constant.
target::TensorMapL2 getMapL2(L2Promotion promotion);

/// Value of elements outside the tensor.
inline constexpr target::TensorMapFill kMapFill = target::TensorMapFill::Zero;

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_TENSORMAPS_H
