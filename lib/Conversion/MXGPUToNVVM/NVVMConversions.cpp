//===- NVVMConversions.cpp - Conversions of numbers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The part of NVVMBuilder that changes numbers: cvt, prmt, rcp.
//
//===----------------------------------------------------------------------===//

#include "NVVMBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mx::mxgpu;

Value NVVMBuilder::convertToNarrow(Value hi, Value lo, Type type) {
  if (isa<Float4E2M1FNType>(type))
    return create<NVVM::ConvertF32x2ToF4x2Op>(getI8Type(), hi, lo,
                                              /*relu=*/false, type);
  if (isa<Float6E2M3FNType, Float6E3M2FNType>(type))
    return create<NVVM::ConvertF32x2ToF6x2Op>(getI16Type(), hi, lo,
                                              /*relu=*/false, type);
  return create<NVVM::ConvertF32x2ToF8x2Op>(
      getI16Type(), hi, lo, NVVM::FPRoundingMode::RN,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false, type);
}

Value NVVMBuilder::widenE4M3(Value pair) {
  auto bytes = VectorType::get({2}, getI8Type());
  auto halves = VectorType::get({2}, getF16Type());
  Value wide = create<NVVM::ConvertF8x2ToF16x2Op>(
      halves, create<LLVM::BitcastOp>(bytes, pair), /*relu=*/false,
      Float8E4M3FNType::get(getContext()));
  return create<LLVM::FPExtOp>(
      getF32Type(), create<LLVM::ExtractElementOp>(wide, i32(0)).getResult());
}

Value NVVMBuilder::reciprocal(Value f32) {
  return create<NVVM::RcpApproxFtzF32Op>(getF32Type(), f32);
}

Value NVVMBuilder::permute(Value lo, Value hi, uint32_t selector) {
  return create<NVVM::PermuteOp>(getI32Type(), lo, hi, i32(selector),
                                 NVVM::PermuteMode::DEFAULT);
}

Value NVVMBuilder::convertToHalves(Value hi, Value lo, Type type) {
  auto pairType = VectorType::get({2}, type);
  Value pair;
  if (type.isBF16())
    pair = create<NVVM::ConvertF32x2ToBF16x2Op>(
        pairType, hi, lo, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN,
        NVVM::SaturationMode::NONE, /*relu=*/false);
  else
    pair = create<NVVM::ConvertF32x2ToF16x2Op>(
        pairType, hi, lo, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN,
        NVVM::SaturationMode::NONE, /*relu=*/false);
  return create<LLVM::BitcastOp>(getI32Type(), pair);
}

Value NVVMBuilder::convertToE8M0Up(Value hi, Value lo) {
  return create<NVVM::ConvertF32x2ToF8x2Op>(
      getI16Type(), hi, lo, NVVM::FPRoundingMode::RP,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false,
      Float8E8M0FNUType::get(getContext()));
}
