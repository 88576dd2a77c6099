//===- TensorMaps.cpp - Tensor maps as the driver takes them --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"

using namespace mlir;

std::optional<mx::target::TensorMapType>
mx::getMapType(mxgpu::TensorMapType map) {
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

mx::target::TensorMapL2 mx::getMapL2(mxgpu::L2Promotion promotion) {
  switch (promotion) {
  case mxgpu::L2Promotion::None:
    return target::TensorMapL2::None;
  case mxgpu::L2Promotion::B64:
    return target::TensorMapL2::B64;
  case mxgpu::L2Promotion::B128:
    return target::TensorMapL2::B128;
  case mxgpu::L2Promotion::B256:
    return target::TensorMapL2::B256;
  }
  llvm_unreachable("all promotions are listed");
}

mx::Swizzle mx::getMapSwizzle(mxgpu::TensorMapType map) {
  switch (map.getSwizzle()) {
  case mxgpu::Swizzle::None:
    return Swizzle::None;
  case mxgpu::Swizzle::Sw32:
    return Swizzle::B32;
  case mxgpu::Swizzle::Sw64:
    return Swizzle::B64;
  case mxgpu::Swizzle::Sw128:
    return Swizzle::B128;
  }
  llvm_unreachable("all swizzles are listed");
}
