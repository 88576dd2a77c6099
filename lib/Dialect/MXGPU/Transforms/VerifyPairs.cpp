//===- VerifyPairs.cpp - Participation of both CTAs of a pair -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The leader of a pair issues the instructions of both tensor cores (PTX ISA,
// tcgen05 CTA pair), and each CTA fills and reads its own memory. Barriers of a
// pair count arrivals from certain CTAs: a missing arrival is a deadlock, a
// surplus arrival a race.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Returns true if `value` may differ between the CTAs of a pair.
static bool dependsOnRank(Value value) {
  // Loop arguments depend on loop operands, which are checked separately.
  Operation *op = value.getDefiningOp();
  return op &&
         (isa<CtaRankOp>(op) || llvm::any_of(op->getOperands(), dependsOnRank));
}

/// Verifies the CTAs of each kind in a pair: the leader alone, or both.
static LogicalResult verifyPort(RingOp ring, const Port &port,
                                AsyncKind asyncKind) {
  RoleOp role = port.role;
  bool leads = asyncKind == AsyncKind::MmaCommit;
  // kernel C31
  if (asyncKind != AsyncKind::Roles && role.getOnLeader() != leads)
    return role.emitOpError(leads ? "expected a role on_leader for "
                                  : "expected a role of both CTAs for ")
           << stringifyAsyncKind(asyncKind) << " of ring \"" << ring.getName()
           << "\", found one " << (leads ? "of both CTAs" : "on_leader");
  for (Operation *loop : getLoops(port.take))
    if (llvm::any_of(loop->getOperands(), dependsOnRank)) {
      // kernel C32
      InFlightDiagnostic diag =
          loop->emitOpError("expected equally many iterations in both CTAs of "
                            "a pair, found operands that depend on "
                            "mxgpu.cta_rank");
      diag.attachNote(ring.getLoc()) << "the ring is shared by the pair";
      return diag;
    }
  return success();
}

LogicalResult mx::mxgpu::verifyPair(RingOp ring, const Sides &sides) {
  RingType type = ring.getType();
  auto kernel = ring->getParentOfType<KernelOp>();
  auto verifyProducers = [&] {
    return success(llvm::all_of(sides.producers, [&](const Port &port) {
      return succeeded(verifyPort(ring, port, type.getProducer()));
    }));
  };
  // Each CTA of a pair searches its expert groups itself.
  if (type.getProducer() == AsyncKind::Groups)
    return kernel.isPair() ? verifyProducers() : success();
  // A CTA may also load for its own threads.
  bool isOfCta = kernel.isPair() && type.getScope() == Scope::Cta &&
                 type.getProducer() == AsyncKind::BulkCopy &&
                 type.getConsumer() == AsyncKind::Threads;
  // kernel C33
  if (type.isPair() != kernel.isPair() && !isOfCta)
    return ring.emitOpError("expected scope = ")
           << (kernel.isPair() ? "pair" : "cta") << " in a kernel with cluster("
           << kernel.getCluster()
           << "), found scope = " << stringifyScope(type.getScope());
  if (!kernel.isPair())
    return success();
  if (failed(verifyProducers()))
    return failure();
  for (const Port &consumer : sides.consumers)
    if (failed(verifyPort(ring, consumer, type.getConsumer())))
      return failure();
  return success();
}
