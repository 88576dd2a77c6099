//===- TensorMaps.h - Tensor maps as the driver takes them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Host code and launch plans encode the same maps; Target says what one is.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_TENSORMAPS_H
#define MX_DIALECT_MXGPU_IR_TENSORMAPS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/TensorMap.h"
#include <optional>

namespace mx::mxgpu {

/// The driver's name of a map's elements. Bytes that are copied and not added
/// need none of their own.
std::optional<target::TensorMapType> getMapType(TensorMapType map);

/// A swizzle as the descriptors of maps and operands name it.
mx::Swizzle toSwizzle(mxgpu::Swizzle swizzle);

/// The driver's name of what L2 fetches for a map.
target::TensorMapL2 getMapL2(L2Promotion promotion);

/// What is read outside of the tensor.
inline constexpr target::TensorMapFill kMapFill = target::TensorMapFill::Zero;

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_TENSORMAPS_H
