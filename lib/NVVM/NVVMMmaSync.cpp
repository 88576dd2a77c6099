//===- NVVMMmaSync.cpp - Matrix instructions of a warp --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for mma.sync, whose operands are all in registers.
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the 32-bit registers of a vector. Bitcasts floats to integers,
/// because LLVM lacks 8-bit floats.
SmallVector<Value> NVVMBuilder::getWords(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getElementTypeBitWidth();
  if (!type.getElementType().isInteger())
    vector = bitcast(type.clone(getIntegerType(bits)), vector);
  auto words =
      VectorType::get({type.getNumElements() * bits / 32}, getI32Type());
  if (vector.getType() != words)
    vector = LLVM::BitcastOp::create(*this, words, vector);
  return getElements(*this, vector);
}

std::pair<Value, Value> NVVMBuilder::spreadE2M1(Value word) {
  Value mask = i32(0x3C3C3C3C);
  Value even = andBits(shiftLeft(word, 2), mask);
  Value odd = andBits(shiftRight(word, 2), mask);
  return {even, odd};
}

static NVVM::MMATypes getMmaSyncType(target::MmaType type) {
  switch (type) {
  case target::MmaType::E4M3:
    return NVVM::MMATypes::e4m3;
  case target::MmaType::E5M2:
    return NVVM::MMATypes::e5m2;
  case target::MmaType::E3M2:
    return NVVM::MMATypes::e3m2;
  case target::MmaType::E2M3:
    return NVVM::MMATypes::e2m3;
  case target::MmaType::E2M1:
    return NVVM::MMATypes::e2m1;
  case target::MmaType::BF16:
    return NVVM::MMATypes::bf16;
  case target::MmaType::F16:
    return NVVM::MMATypes::f16;
  case target::MmaType::TF32:
  case target::MmaType::U8:
  case target::MmaType::S8:
    break;
  }
  llvm_unreachable("the verifier lets no other types pass");
}

static NVVM::MMABlockScaleKind getMmaSyncKind(target::MmaKind kind) {
  if (kind == target::MmaKind::MXF8F6F4)
    return NVVM::MMABlockScaleKind::MXF8F6F4;
  return kind == target::MmaKind::MXF4 ? NVVM::MMABlockScaleKind::MXF4
                                       : NVVM::MMABlockScaleKind::MXF4NVF4;
}

/// Returns .scale_vec_size for the scales per row (PTX ISA, mma).
static NVVM::ScaleVecSize getScaleVecSize(int64_t scales) {
  return scales == 1   ? NVVM::ScaleVecSize::X1
         : scales == 2 ? NVVM::ScaleVecSize::X2
                       : NVVM::ScaleVecSize::X4;
}

static constexpr int64_t kMmaSyncRows = 16, kMmaSyncColumns = 8;

static Value mmaUnscaled(NVVMBuilder &builder, const MmaSyncShape &shape,
                         Type type, const MmaSyncStep &step, ValueRange d) {
  return NVVM::MmaOp::create(
      builder, type, step.a, step.b, d,
      ArrayRef<int64_t>{kMmaSyncRows, kMmaSyncColumns,
                        int64_t(target::getInfo(shape.kind).k)},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{getMmaSyncType(shape.a), getMmaSyncType(shape.b)},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
}

static Value mmaScaled(NVVMBuilder &builder, const MmaSyncShape &shape,
                       Type type, const MmaSyncStep &step, ValueRange d) {
  int64_t k = target::getInfo(shape.kind).k;
  auto format = shape.scaleFormat == FloatFormat::E8M0
                    ? NVVM::BlockScaleFormat::UE8M0
                    : NVVM::BlockScaleFormat::UE4M3;
  auto selector = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder,
                                     builder.getI16IntegerAttr(number));
  };
  return NVVM::MmaBlockScaleOp::create(
      builder, type, step.a, step.b, d, step.aScales.word,
      selector(step.aScales.byte), selector(step.aScales.thread),
      step.bScales.word, selector(step.bScales.byte),
      selector(step.bScales.thread),
      ArrayRef<int64_t>{kMmaSyncRows, kMmaSyncColumns, k},
      std::array{getMmaSyncType(shape.a), getMmaSyncType(shape.b)},
      getScaleVecSize(k / shape.blockSize), format, getMmaSyncKind(shape.kind));
}

Value NVVMBuilder::mmaSync(const MmaSyncShape &shape, Value accumulators,
                           ArrayRef<MmaSyncStep> steps) {
  constexpr int64_t kOwn = 4; // accumulators of an instruction
  Type type = LLVM::LLVMStructType::getLiteral(
      getContext(), SmallVector<Type>(kOwn, getF32Type()));
  SmallVector<Value> registers = getElements(*this, accumulators);
  for (const MmaSyncStep &step : steps) {
    MutableArrayRef<Value> own =
        MutableArrayRef(registers).slice(step.accumulator, kOwn);
    Value sums = (shape.blockSize ? mmaScaled : mmaUnscaled)(
        *this, shape, type, step, ValueRange(own));
    for (auto [i, value] : llvm::enumerate(own))
      value = LLVM::ExtractValueOp::create(*this, sums,
                                           ArrayRef<int64_t>{int64_t(i)});
  }
  return makeVector(*this, registers);
}
