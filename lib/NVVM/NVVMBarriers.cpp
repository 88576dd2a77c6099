//===- NVVMBarriers.cpp - Barriers in shared memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for mbarriers and cluster launch control.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

void NVVMBuilder::initBarrier(Value barrier, Value count) {
  NVVM::MBarrierInitOp::create(*this, barrier, count, /*predicate=*/Value());
}

void NVVMBuilder::invalidateBarrier(Value barrier) {
  NVVM::MBarrierInvalOp::create(*this, barrier);
}

void NVVMBuilder::fenceBarrierInit() {
  NVVM::FenceMbarrierInitOp::create(*this);
}

/// Returns the number of arrivals, or null for 1.
static Value getArrivals(NVVMBuilder &builder, int64_t count) {
  return count == 1 ? Value() : builder.i32(count);
}

void NVVMBuilder::arrive(Value barrier, int64_t count) {
  NVVM::MBarrierArriveOp::create(*this, getI64Type(), barrier,
                                 getArrivals(*this, count));
}

void NVVMBuilder::arriveExpectBytes(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      *this, /*res=*/Type(), barrier, i32(bytes), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
}

Value NVVMBuilder::inCluster(Value pointer) {
  Value address = LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 7), address);
}

Value NVVMBuilder::atLeader(Value pointer) {
  Value address = LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
  Value leader = andBits(address, i64(mx::target::kLeaderAddressMask));
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 3), leader);
}

void NVVMBuilder::arriveInCluster(Value barrier, int64_t count) {
  NVVM::MBarrierArriveOp::create(*this, /*res=*/Type(), inCluster(barrier),
                                 getArrivals(*this, count),
                                 NVVM::MemScopeKind::CLUSTER,
                                 /*relaxed=*/false);
}

void NVVMBuilder::arriveExpectBytesInCluster(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      *this, /*res=*/Type(), inCluster(barrier), i32(bytes),
      NVVM::MemScopeKind::CLUSTER, /*relaxed=*/false, /*predicate=*/Value());
}

Value NVVMBuilder::inCta(Value pointer, int64_t rank) {
  return NVVM::MapaOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 7), pointer, i32(rank));
}

void NVVMBuilder::arriveAt(Value barrier, int64_t rank, bool isOrdered) {
  NVVM::MBarrierArriveOp::create(*this, /*res=*/Type(), inCta(barrier, rank),
                                 /*count=*/Value(),
                                 isOrdered ? NVVM::MemScopeKind::CLUSTER
                                           : NVVM::MemScopeKind::CTA,
                                 /*relaxed=*/false);
}

void NVVMBuilder::wait(Value barrier, Value parity, bool cluster) {
  // Repeat try_wait, because it may return before the phase completes: without
  // a limit, about every 100 cycles, which costs power.
  Value limit = i32(mx::target::kTryWaitNs);
  scf::WhileOp::create(
      *this, TypeRange(), ValueRange(),
      [&](OpBuilder &builder, Location loc, ValueRange) {
        Value done = NVVM::MBarrierTryWaitOp::create(
            builder, loc, builder.getI1Type(), barrier, parity, limit,
            cluster ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA);
        Value yes =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        Value again = arith::XOrIOp::create(builder, loc, done, yes);
        scf::ConditionOp::create(builder, loc, again, ValueRange());
      },
      [](OpBuilder &builder, Location loc, ValueRange) {
        scf::YieldOp::create(builder, loc);
      });
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

void NVVMBuilder::requestCluster(Value answer, Value barrier, bool multicast) {
  NVVM::ClusterLaunchControlTryCancelOp::create(*this, multicast, answer,
                                                barrier);
}

Value NVVMBuilder::loadAnswer(Value address) {
  return LLVM::LoadOp::create(*this, getIntegerType(128), address,
                              /*alignment=*/16);
}

Value NVVMBuilder::isCluster(Value answer) {
  return NVVM::ClusterLaunchControlQueryCancelOp::create(
      *this, getI1Type(), NVVM::ClusterLaunchControlQueryType::IS_CANCELED,
      answer);
}

Value NVVMBuilder::getFirstCta(Value answer) {
  return NVVM::ClusterLaunchControlQueryCancelOp::create(
      *this, getI32Type(),
      NVVM::ClusterLaunchControlQueryType::GET_FIRST_CTA_ID_X, answer);
}

void NVVMBuilder::fenceAsyncShared() {
  NVVM::FenceProxyOp::create(
      *this,
      NVVM::ProxyKindAttr::get(getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
}
