//===- NVVMTensorCore.cpp - Tensor memory and tcgen05 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for tensor cores.
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx::mxgpu;

SmallVector<Value> mx::mxgpu::getElements(NVVMBuilder &builder, Value vector) {
  SmallVector<Value> elements;
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(
        LLVM::ExtractElementOp::create(builder, vector, builder.i32(i)));
  return elements;
}

Value mx::mxgpu::makeVector(NVVMBuilder &builder, ValueRange elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())},
                              elements.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector =
        LLVM::InsertElementOp::create(builder, vector, element, builder.i32(i));
  return vector;
}

Value NVVMBuilder::tensorPointer(Value address) {
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 6), address);
}

void NVVMBuilder::allocTensorMemory(Value slot, int64_t columns, bool pair) {
  NVVM::Tcgen05AllocOp::create(*this, slot, i32(columns), toCtaGroup(pair));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(*this, toCtaGroup(pair));
}

void NVVMBuilder::freeTensorMemory(Value address, int64_t columns, bool pair) {
  Value start = tensorPointer(address);
  NVVM::Tcgen05DeallocOp::create(*this, start, i32(columns), toCtaGroup(pair));
}

void NVVMBuilder::fenceBeforeSync() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

void NVVMBuilder::fenceAfterSync() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void NVVMBuilder::copyScaleTile(Value address, Value descriptor, bool pair) {
  NVVM::Tcgen05CpOp::create(*this, NVVM::Tcgen05CpShape::SHAPE_32x128b,
                            toCtaGroup(pair), NVVM::Tcgen05CpMulticast::WARPX4,
                            NVVM::Tcgen05CpSrcFormatAttr(),
                            tensorPointer(address), descriptor);
}

static NVVM::MMABlockScaleKind getBlockScaleKind(mx::target::MmaKind kind) {
  using mx::target::MmaKind;
  switch (kind) {
  case MmaKind::MXF8F6F4:
    return NVVM::MMABlockScaleKind::MXF8F6F4;
  case MmaKind::MXF4:
    return NVVM::MMABlockScaleKind::MXF4;
  case MmaKind::MXF4NVF4:
    return NVVM::MMABlockScaleKind::MXF4NVF4;
  case MmaKind::F16:
  case MmaKind::TF32:
  case MmaKind::F8F6F4:
  case MmaKind::I8:
    break;
  }
  llvm_unreachable("the verifier lets only kinds with scales pass");
}

void NVVMBuilder::mmaBlockScaled(const mx::target::InstrDescriptor &instruction,
                                 Value d, Value a, Value b, Value accumulate,
                                 Value aScales, Value bScales) {
  // All chips of the family support .block16 and .block32.
  auto blockScale = instruction.blockSize == 16
                        ? NVVM::Tcgen05MMABlockScale::BLOCK16
                        : NVVM::Tcgen05MMABlockScale::BLOCK32;
  Value accumulator = tensorPointer(d);
  Value word = i32(static_cast<int32_t>(mx::target::encode(instruction)));
  Value aScalesStart = tensorPointer(aScales);
  Value bScalesStart = tensorPointer(bScales);
  NVVM::Tcgen05MMABlockScaleOp::create(
      *this, getBlockScaleKind(instruction.kind),
      toCtaGroup(instruction.ctaGroup == 2), blockScale,
      NVVM::Tcgen05MMACollectorOp::DISCARD, accumulator, a, b, word, accumulate,
      aScalesStart, bScalesStart);
}

void NVVMBuilder::mma(const mx::target::InstrDescriptor &instruction, Value d,
                      Value a, Value b, Value accumulate) {
  assert(instruction.kind == mx::target::MmaKind::F16 &&
         "the verifier lets no other kind without scales pass");
  Value accumulator = tensorPointer(d);
  Value word = i32(static_cast<int32_t>(mx::target::encode(instruction)));
  NVVM::Tcgen05MMAOp::create(
      *this, NVVM::Tcgen05MMAKind::F16, toCtaGroup(instruction.ctaGroup == 2),
      NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, accumulator, a, b,
      word, accumulate, /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
}

void NVVMBuilder::commit(Value barrier, bool pair) {
  NVVM::Tcgen05CommitOp::create(*this, barrier, maskOf(pair), toCtaGroup(pair));
}

Value NVVMBuilder::loadTensorMemory(Value address, int64_t columns) {
  auto type = VectorType::get({columns}, getI32Type());
  Value loaded = NVVM::Tcgen05LdOp::create(
      *this, type, /*pack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
      tensorPointer(address), /*offset=*/Value());
  NVVM::Tcgen05WaitOp::create(*this, NVVM::Tcgen05WaitKind::LOAD);
  return makeVector(*this, tie(getElements(*this, loaded), "r"));
}

/// Prevents LLVM from using registers before a wait fills them, which LLVM does
/// not model. Emits an empty asm with side effects after the wait. The asm
/// reads and returns each register, and later uses depend on its results.
SmallVector<Value> NVVMBuilder::tie(ValueRange values, StringRef constraint) {
  size_t count = values.size();
  SmallVector<Type> types(values.getTypes());
  std::string constraints;
  for (size_t i = 0; i < count; ++i)
    constraints += ("=" + constraint + ",").str();
  for (size_t i = 0; i < count; ++i)
    constraints += std::to_string(i) + (i + 1 < count ? "," : "");
  Type type = count == 1
                  ? types.front()
                  : LLVM::LLVMStructType::getLiteral(getContext(), types);
  Value tied = LLVM::InlineAsmOp::create(*this, type, values, "", constraints,
                                         /*has_side_effects=*/true,
                                         /*is_align_stack=*/false,
                                         LLVM::TailCallKind::None,
                                         /*asm_dialect=*/LLVM::AsmDialectAttr(),
                                         /*operand_attrs=*/ArrayAttr())
                   .getRes();
  if (count == 1)
    return {tied};
  SmallVector<Value> results;
  for (int64_t i = 0, e = count; i < e; ++i)
    results.push_back(
        LLVM::ExtractValueOp::create(*this, tied, ArrayRef<int64_t>{i}));
  return results;
}

Value NVVMBuilder::lowWordOfDescriptor(uint64_t encoded, Value pointer) {
  // Descriptors contain 18 bits of an address. Addresses in a CTA are less than
  // 2^18, so an added offset does not carry into other fields.
  auto [start, bytes] = splitOffset(pointer);
  Value address = LLVM::PtrToIntOp::create(*this, getI32Type(), start);
  Value units =
      shiftRight(address, i32(llvm::Log2_32(mx::target::kDescriptorUnit)));
  return add(units,
             i32(llvm::Lo_32(encoded) + bytes / mx::target::kDescriptorUnit));
}

Value NVVMBuilder::matrixDescriptor(uint64_t encoded, Value low) {
  return arith::OrIOp::create(*this,
                              arith::ExtUIOp::create(*this, getI64Type(), low),
                              i64(static_cast<int64_t>(encoded >> 32 << 32)));
}
