//===- TensorMaps.cpp - Tensor maps of the driver -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/TensorMaps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

std::optional<target::TensorMapType> mx::mxgpu::getMapType(TensorMapType map) {
  Type type = map.getElementType();
  if (type.isF32())
    return target::TensorMapType::F32;
  if (type.isF16())
    return target::TensorMapType::F16;
  if (type.isBF16())
    return target::TensorMapType::BF16;
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return target::TensorMapType::U8;
  case 6:
    return target::TensorMapType::U6Align16;
  case 4:
    return map.getPadded() ? target::TensorMapType::U4Align16
                           : target::TensorMapType::U4Align8;
  default:
    return std::nullopt;
  }
}

target::TensorMapL2 mx::mxgpu::getMapL2(L2Promotion promotion) {
  switch (promotion) {
  case L2Promotion::None:
    return target::TensorMapL2::None;
  case L2Promotion::B64:
    return target::TensorMapL2::B64;
  case L2Promotion::B128:
    return target::TensorMapL2::B128;
  case L2Promotion::B256:
    return target::TensorMapL2::B256;
  }
  llvm_unreachable("all promotions are listed");
}

mx::Swizzle mx::mxgpu::toSwizzle(mxgpu::Swizzle swizzle) {
  switch (swizzle) {
  case mxgpu::Swizzle::None:
    return mx::Swizzle::None;
  case mxgpu::Swizzle::Sw32:
    return mx::Swizzle::B32;
  case mxgpu::Swizzle::Sw64:
    return mx::Swizzle::B64;
  case mxgpu::Swizzle::Sw128:
    return mx::Swizzle::B128;
  }
  llvm_unreachable("all swizzles are listed");
}
