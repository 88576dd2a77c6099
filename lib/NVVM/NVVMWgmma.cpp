//===- NVVMWgmma.cpp - Matrix instructions of a warpgroup -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for wgmma. NVVM has no operation for A in registers,
// so this form uses inline asm like the asm that NVVM emits for descriptors.
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/Target/Wgmma.h"

using namespace mlir;
using namespace mx::mxgpu;

void NVVMBuilder::fenceWarpgroup() { NVVM::WgmmaFenceAlignedOp::create(*this); }

void NVVMBuilder::commitWarpgroup() {
  NVVM::WgmmaGroupSyncAlignedOp::create(*this);
}

Value NVVMBuilder::waitWarpgroup(Value accumulators,
                                 std::optional<int64_t> pending, bool isRead) {
  if (pending)
    NVVM::WgmmaWaitGroupSyncOp::create(*this, *pending);
  if (!isRead)
    return accumulators;
  return makeVector(*this, tie(getElements(*this, accumulators), "f"));
}

/// Packs a vector into registers and ties them, so the registers are
/// written before the fence. ptxas serializes wgmma instructions that read
/// registers written after the fence.
SmallVector<Value> NVVMBuilder::packWords(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  unsigned bits = type.getElementTypeBitWidth();
  // LLVM has no 8-bit floats.
  if (bits == 8)
    vector = bitcast(type.clone(getIntegerType(8)), vector);
  SmallVector<Value> elements = getElements(*this, vector);
  SmallVector<Value> words;
  for (size_t i = 0, perWord = 32 / bits; i < elements.size(); i += perWord)
    words.push_back(LLVM::BitcastOp::create(
        *this, getI32Type(),
        makeVector(*this, ValueRange(elements).slice(i, perWord))));
  return tie(words, "r");
}

static NVVM::WGMMATypes getWgmmaType(mx::target::MmaType type) {
  switch (type) {
  case mx::target::MmaType::F16:
    return NVVM::WGMMATypes::f16;
  case mx::target::MmaType::BF16:
    return NVVM::WGMMATypes::bf16;
  case mx::target::MmaType::TF32:
    return NVVM::WGMMATypes::tf32;
  case mx::target::MmaType::E4M3:
    return NVVM::WGMMATypes::e4m3;
  case mx::target::MmaType::E5M2:
    return NVVM::WGMMATypes::e5m2;
  case mx::target::MmaType::E2M3:
  case mx::target::MmaType::E3M2:
  case mx::target::MmaType::E2M1:
  case mx::target::MmaType::U8:
  case mx::target::MmaType::S8:
    break;
  }
  llvm_unreachable("the verifier lets only types of wgmma pass");
}

/// Returns the names of `count` operands of inline asm, such as "$0, $1".
static std::string nameOperands(size_t first, size_t count) {
  std::string text;
  for (size_t i = first; i < first + count; ++i)
    text += (i == first ? "$" : ", $") + std::to_string(i);
  return text;
}

/// Returns the inline asm of wgmma with A in registers. Its modifiers are
/// scale-d (accumulate), no negation and, for 16-bit types, imm-trans-b of
/// K-major B.
static std::string spellInRegisters(const WgmmaShape &shape,
                                    size_t accumulators, size_t words,
                                    bool overwrites) {
  std::string types[] = {
      NVVM::stringifyWGMMATypes(getWgmmaType(shape.a)).str(),
      NVVM::stringifyWGMMATypes(getWgmmaType(shape.b)).str()};
  // The second `accumulators` operands of the asm are the old accumulators,
  // which share registers with the new accumulators.
  return "{\n.reg .pred p;\nsetp.ne.b32 p, " + std::to_string(!overwrites) +
         ", 0;\nwgmma.mma_async.sync.aligned.m" + std::to_string(shape.m) +
         "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k) +
         ".f32." + types[0] + "." + types[1] + " {" +
         nameOperands(0, accumulators) + "}, {" +
         nameOperands(2 * accumulators, words) + "}, " +
         nameOperands(2 * accumulators + words, 1) + ", p, 1, 1" +
         (shape.k == 16 ? ", 0" : "") + ";\n}";
}

static Value mmaInRegisters(NVVMBuilder &builder, const WgmmaShape &shape,
                            Value inOut, const WgmmaStep &step,
                            bool overwrites) {
  auto type = cast<LLVM::LLVMStructType>(inOut.getType());
  size_t accumulators = type.getBody().size();
  SmallVector<Value> operands;
  std::string outputs, inputs;
  for (size_t i = 0; i < accumulators; ++i) {
    operands.push_back(LLVM::ExtractValueOp::create(
        builder, inOut, ArrayRef<int64_t>{int64_t(i)}));
    outputs += "=f,";
    inputs += std::to_string(i) + ",";
  }
  for (Value word : step.a) {
    operands.push_back(word);
    inputs += "r,";
  }
  operands.push_back(step.b);
  return LLVM::InlineAsmOp::create(
             builder, type, operands,
             spellInRegisters(shape, accumulators, step.a.size(), overwrites),
             outputs + inputs + "l", /*has_side_effects=*/true,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

static Value mmaDescribed(NVVMBuilder &builder, const WgmmaShape &shape,
                          Value inOut, const WgmmaStep &step, bool overwrites) {
  return NVVM::WgmmaMmaAsyncOp::create(
      builder, inOut.getType(), inOut, step.a.front(), step.b,
      NVVM::MMAShapeAttr::get(builder.getContext(), shape.m, shape.n, shape.k),
      getWgmmaType(shape.a), getWgmmaType(shape.b), NVVM::WGMMATypes::f32,
      overwrites ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, NVVM::MMALayout::row,
      NVVM::MMALayout::col,
      /*satfinite=*/NVVM::MMAIntOverflowAttr());
}

Value NVVMBuilder::mmaWarpgroup(const WgmmaShape &shape, Value accumulators,
                                ArrayRef<WgmmaBlock> blocks) {
  SmallVector<Value> registers = getElements(*this, accumulators);
  for (const WgmmaBlock &block : blocks) {
    SmallVector<Type> types(block.accumulators.size(), getF32Type());
    Value inOut = LLVM::PoisonOp::create(
        *this, LLVM::LLVMStructType::getLiteral(getContext(), types));
    for (auto [i, number] : llvm::enumerate(block.accumulators))
      inOut = LLVM::InsertValueOp::create(*this, inOut, registers[number],
                                          ArrayRef<int64_t>{int64_t(i)});
    for (const auto &[i, step] : llvm::enumerate(block.steps))
      inOut = (step.a.size() == 1 ? mmaDescribed : mmaInRegisters)(
          *this, shape, inOut, step, block.overwrites && !i);
    for (auto [i, number] : llvm::enumerate(block.accumulators))
      registers[number] = LLVM::ExtractValueOp::create(
          *this, inOut, ArrayRef<int64_t>{int64_t(i)});
  }
  return makeVector(*this, registers);
}
