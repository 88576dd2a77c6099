//===- NVVMConversions.cpp - Conversions of numbers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for cvt, prmt and rcp.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/NVVM/NVVMBuilder.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx::mxgpu;

Value NVVMBuilder::convertToNarrow(Value hi, Value lo, Type type) {
  if (isa<Float6E2M3FNType, Float6E3M2FNType>(type))
    return NVVM::ConvertF32x2ToF6x2Op::create(*this, getI16Type(), hi, lo,
                                              /*relu=*/false, type);
  return NVVM::ConvertF32x2ToF8x2Op::create(
      *this, getI16Type(), hi, lo, NVVM::FPRoundingMode::RN,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false, type);
}

Value NVVMBuilder::widenNarrow(Value pair, Type type) {
  auto halves = VectorType::get({2}, getF16Type());
  if (isa<Float4E2M1FNType>(type))
    return NVVM::ConvertF4x2ToF16x2Op::create(*this, halves, pair,
                                              /*relu=*/false, type);
  Value bytes =
      LLVM::BitcastOp::create(*this, VectorType::get({2}, getI8Type()), pair);
  if (isa<Float6E2M3FNType, Float6E3M2FNType>(type))
    return NVVM::ConvertF6x2ToF16x2Op::create(*this, halves, bytes,
                                              /*relu=*/false, type);
  return NVVM::ConvertF8x2ToF16x2Op::create(*this, halves, bytes,
                                            /*relu=*/false, type);
}

Value NVVMBuilder::widenE4M3(Value pair) {
  Value wide = widenNarrow(pair, Float8E4M3FNType::get(getContext()));
  return LLVM::FPExtOp::create(
      *this, getF32Type(),
      LLVM::ExtractElementOp::create(*this, wide, i32(0)).getResult());
}

Value NVVMBuilder::multiply(Value a, Value b, Direction direction) {
  static constexpr llvm::StringLiteral kNames[] = {
      "llvm.nvvm.mul.rz.f", "llvm.nvvm.mul.rm.f", "llvm.nvvm.mul.rp.f"};
  return LLVM::CallIntrinsicOp::create(
             *this, getF32Type(),
             getStringAttr(kNames[static_cast<unsigned>(direction)]),
             ValueRange{a, b})
      .getResult(0);
}

Value NVVMBuilder::reciprocal(Value f32) {
  return NVVM::RcpApproxFtzF32Op::create(*this, getF32Type(), f32);
}

Value NVVMBuilder::permute(Value lo, Value hi, uint32_t selector) {
  return NVVM::PermuteOp::create(*this, getI32Type(), lo, hi, i32(selector),
                                 NVVM::PermuteMode::DEFAULT);
}

Value NVVMBuilder::largerMagnitude(Value a, Value b, Type type) {
  StringRef suffix = type.isF32() ? "f" : type.isBF16() ? "bf16x2" : "f16x2";
  Type operand = type.isF32() ? type : VectorType::get({2}, type);
  Value result = LLVM::CallIntrinsicOp::create(
                     *this, operand,
                     getStringAttr("llvm.nvvm.fmax.nan.xorsign.abs." + suffix),
                     ValueRange{LLVM::BitcastOp::create(*this, operand, a),
                                LLVM::BitcastOp::create(*this, operand, b)})
                     .getResult(0);
  return LLVM::BitcastOp::create(*this, getI32Type(), result);
}

static Value joinPair(NVVMBuilder &builder, Value lo, Value hi) {
  Value pair =
      LLVM::UndefOp::create(builder, VectorType::get({2}, lo.getType()));
  pair = LLVM::InsertElementOp::create(builder, pair, lo, builder.i32(0));
  return LLVM::InsertElementOp::create(builder, pair, hi, builder.i32(1));
}

Value NVVMBuilder::joinFloats(Value lo, Value hi) {
  return joinPair(*this, lo, hi);
}

Value NVVMBuilder::joinHalves(Value lo, Value hi) {
  return LLVM::BitcastOp::create(*this, getI32Type(), joinPair(*this, lo, hi));
}

/// Uses inline PTX with 8-bit registers, which LLVM does not support. ptxas
/// packs them as part of the conversions.
Value NVVMBuilder::convertToE2M1(ValueRange eight) {
  std::string text = "{ .reg .b8 pair<4>;";
  for (int i = 0; i < 4; ++i)
    text += llvm::formatv(" cvt.rn.satfinite.e2m1x2.f32 pair{0}, ${1}, ${2};",
                          i, 2 * i + 2, 2 * i + 1);
  text += " mov.b32 $0, {pair0, pair1, pair2, pair3}; }";
  return LLVM::InlineAsmOp::create(
             *this, getI32Type(), eight, text, "=r,f,f,f,f,f,f,f,f",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

Value NVVMBuilder::convertToHalves(Value hi, Value lo, Type type) {
  auto pairType = VectorType::get({2}, type);
  Value pair;
  if (type.isBF16())
    pair = NVVM::ConvertF32x2ToBF16x2Op::create(
        *this, pairType, hi, lo, /*random_bits=*/Value(),
        NVVM::FPRoundingMode::RN, NVVM::SaturationMode::NONE, /*relu=*/false);
  else
    pair = NVVM::ConvertF32x2ToF16x2Op::create(
        *this, pairType, hi, lo, /*random_bits=*/Value(),
        NVVM::FPRoundingMode::RN, NVVM::SaturationMode::NONE, /*relu=*/false);
  return LLVM::BitcastOp::create(*this, getI32Type(), pair);
}

Value NVVMBuilder::convertToScalesUp(Value hi, Value lo) {
  return NVVM::ConvertF32x2ToF8x2Op::create(
      *this, getI16Type(), hi, lo, NVVM::FPRoundingMode::RP,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false,
      Float8E8M0FNUType::get(getContext()));
}
