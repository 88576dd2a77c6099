//===- NVVMWarps.cpp - Warp operations and CTA counters -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communication between threads without shared memory.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx::mxgpu;

Value NVVMBuilder::laneId() {
  return NVVM::LaneIdOp::create(*this, getI32Type());
}

Value NVVMBuilder::isFirstLane(int64_t lanes) {
  Value lane = laneId();
  if (lanes < mx::target::kWarpSize)
    lane = andBits(lane, lanes - 1);
  return isEqual(lane, i32(0));
}

Value NVVMBuilder::electOne() {
  return NVVM::ElectSyncOp::create(*this, getI1Type(), /*membermask=*/Value());
}

/// Emits a shuffle that all 32 lanes execute. The last operand of shfl is the
/// highest readable lane, or, for `up`, the lowest (PTX ISA, shfl.sync).
static Value shuffle(NVVMBuilder &builder, NVVM::ShflKind kind, Value value,
                     Value lane) {
  Value bound = builder.i32(kind == NVVM::ShflKind::up ? 0 : 31);
  return NVVM::ShflOp::create(builder, builder.getI32Type(), builder.i32(-1),
                              value, lane, bound, kind, UnitAttr());
}

Value NVVMBuilder::shuffleXor(Value value, int64_t lanes) {
  return shuffle(*this, NVVM::ShflKind::bfly, value, i32(lanes));
}

Value NVVMBuilder::shuffleUp(Value value, int64_t lanes) {
  return shuffle(*this, NVVM::ShflKind::up, value, i32(lanes));
}

Value NVVMBuilder::shuffleFrom(Value value, Value lane) {
  return shuffle(*this, NVVM::ShflKind::idx, value, lane);
}

Value NVVMBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI32Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::ballot);
}

Value NVVMBuilder::joinBitsInWarp(Value value) {
  return NVVM::ReduxOp::create(*this, getI32Type(), value, NVVM::ReduxKind::OR,
                               i32(-1));
}

Value NVVMBuilder::largestInWarp(Value value) {
  return NVVM::ReduxOp::create(*this, getI32Type(), value,
                               NVVM::ReduxKind::UMAX, i32(-1));
}

Value NVVMBuilder::loadRelaxed(Value pointer) {
  return LLVM::LoadOp::create(*this, getI32Type(), pointer, /*alignment=*/4,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/false, /*isInvariantGroup=*/false,
                              LLVM::AtomicOrdering::monotonic, "device");
}

void NVVMBuilder::raiseGlobal(Value pointer, Value value) {
  LLVM::AtomicRMWOp::create(*this, LLVM::AtomicBinOp::umax, pointer, value,
                            LLVM::AtomicOrdering::monotonic, "device");
}

Value NVVMBuilder::addAndFetchBefore(Value pointer, Value value) {
  return LLVM::AtomicRMWOp::create(*this, LLVM::AtomicBinOp::add, pointer,
                                   value, LLVM::AtomicOrdering::monotonic,
                                   "device");
}

Value NVVMBuilder::drawFromCounter(Value counter, Value last) {
  return LLVM::AtomicRMWOp::create(*this, LLVM::AtomicBinOp::uinc_wrap, counter,
                                   last, LLVM::AtomicOrdering::monotonic,
                                   "device");
}
