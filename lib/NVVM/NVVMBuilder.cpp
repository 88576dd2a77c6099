//===- NVVMBuilder.cpp - Constants, addresses and threads -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/NVVM/NVVMBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Constants and addresses
//===----------------------------------------------------------------------===//

Value NVVMBuilder::i1(bool value) {
  return arith::ConstantOp::create(*this, getBoolAttr(value));
}
Value NVVMBuilder::i64(uint64_t value) {
  return arith::ConstantOp::create(
      *this, getI64IntegerAttr(static_cast<int64_t>(value)));
}

Value NVVMBuilder::toI32(Value value) {
  if (auto wide = value.getDefiningOp<arith::IndexCastUIOp>();
      wide && wide.getIn().getType().isInteger(32))
    return wide.getIn();
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(*this, getI32Type(), value);
  if (value.getType().isInteger(64))
    return arith::TruncIOp::create(*this, getI32Type(), value);
  return value;
}

Value NVVMBuilder::shared(Value offset) {
  auto type = LLVM::LLVMPointerType::get(getContext(), 3);
  Value base = LLVM::AddressOfOp::create(*this, type, kDynamicSharedName);
  return LLVM::GEPOp::create(*this, type, getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value NVVMBuilder::offset(Value pointer, Value bytes) {
  // Add offsets from the start of shared memory in 32 bits.
  auto start = pointer.getDefiningOp<LLVM::GEPOp>();
  if (start && start.getBase().getDefiningOp<LLVM::AddressOfOp>() &&
      start.getIndices().size() == 1 && start.getElemType().isInteger(8)) {
    auto index = start.getIndices()[0];
    auto constant = dyn_cast<IntegerAttr>(index);
    return shared(
        add(constant ? i32(constant.getInt()) : cast<Value>(index), bytes));
  }
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value NVVMBuilder::offset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      *this, pointer.getType(), getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

std::pair<Value, int64_t> mx::mxgpu::splitOffset(Value pointer) {
  auto gep = pointer.getDefiningOp<LLVM::GEPOp>();
  if (!gep || gep.getRawConstantIndices().size() != 1 ||
      !gep.getElemType().isInteger(8) || !gep.getDynamicIndices().empty())
    return {pointer, 0};
  return {gep.getBase(), gep.getRawConstantIndices().front()};
}

Value NVVMBuilder::shared(int64_t offset) { return shared(i32(offset)); }

Value NVVMBuilder::sharedAddress(Value pointer) {
  return LLVM::PtrToIntOp::create(*this, getI32Type(), pointer);
}

Value NVVMBuilder::keep(Value pointer) {
  return LLVM::InlineAsmOp::create(
             *this, pointer.getType(), ValueRange(pointer), "mov.b64 $0, $1;",
             "=l,l",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

Value NVVMBuilder::after(Value value, Value earlier) {
  Value zero = LLVM::InlineAsmOp::create(
                   *this, getI32Type(), ValueRange(earlier),
                   "shr.u32 $0, $1, 31;", "=r,r", /*has_side_effects=*/false,
                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                   /*asm_dialect=*/LLVM::AsmDialectAttr(),
                   /*operand_attrs=*/ArrayAttr())
                   .getRes();
  return add(value, arith::ExtUIOp::create(*this, value.getType(), zero));
}

Value NVVMBuilder::threadId() {
  return NVVM::ThreadIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::warpInCta() {
  Value thread = threadId();
  return shiftRight(thread, llvm::Log2_32(mx::target::kWarpSize));
}
Value NVVMBuilder::ctaId() {
  return NVVM::BlockIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::ctaCount() {
  return NVVM::GridDimXOp::create(*this, getI32Type());
}
Value NVVMBuilder::clusterId() {
  return NVVM::ClusterIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::clusterCount() {
  return NVVM::ClusterDimXOp::create(*this, getI32Type());
}
Value NVVMBuilder::ctaRank() {
  return NVVM::ClusterId::create(*this, getI32Type());
}
Value NVVMBuilder::isLeader() { return isEqual(ctaRank(), i32(0)); }

// Do not use nvvm.barrier, because LLVM 22 cannot parse its own
// output for barriers with locations.
void NVVMBuilder::syncCta() { NVVM::Barrier0Op::create(*this); }
void NVVMBuilder::syncWarp() { NVVM::SyncWarpOp::create(*this, i32(-1)); }

void NVVMBuilder::syncThreads(int64_t number, int64_t count) {
  LLVM::CallIntrinsicOp::create(
      *this, getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.count"),
      ValueRange{i32(number), i32(count)});
}

void NVVMBuilder::syncCluster() {
  NVVM::ClusterArriveOp::create(*this, getUnitAttr());
  NVVM::ClusterWaitOp::create(*this, getUnitAttr());
}

void NVVMBuilder::setRegisters(int64_t count, bool more) {
  NVVM::SetMaxRegisterOp::create(*this, count,
                                 more ? NVVM::SetMaxRegisterAction::increase
                                      : NVVM::SetMaxRegisterAction::decrease);
}

void NVVMBuilder::waitForGrids() {
  NVVM::GriddepcontrolOp::create(*this, NVVM::GridDepActionKind::wait);
}

void NVVMBuilder::launchDependentGrids() {
  NVVM::GriddepcontrolOp::create(*this,
                                 NVVM::GridDepActionKind::launch_dependents);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value NVVMBuilder::approximateReciprocal(Value x) {
  return NVVM::RcpApproxFtzF32Op::create(*this, getF32Type(), x);
}

Value NVVMBuilder::clampMagnitude(Value x, Value limit) {
  return LLVM::CallIntrinsicOp::create(
             *this, getF32Type(),
             getStringAttr("llvm.nvvm.fmin.nan.xorsign.abs.f"),
             ValueRange{x, limit})
      .getResult(0);
}
