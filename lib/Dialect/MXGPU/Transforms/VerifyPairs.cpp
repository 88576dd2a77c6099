//===- VerifyPairs.cpp - Participation of both CTAs of a pair -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The leader of a pair issues the instructions of both tensor cores (PTX ISA,
// tcgen05 CTA pair). Each CTA fills and reads its own memory. Each barrier of a
// pair expects arrivals from certain CTAs. A missing arrival causes a deadlock,
// and a surplus arrival causes a race.
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

/// Fails unless the role runs in the CTAs that `asyncKind` requires: MMAs run
/// in the leader only, all other kinds in both CTAs.
static LogicalResult verifyPort(RingOp ring, const Port &port,
                                AsyncKind asyncKind) {
  RoleOp role = port.role;
  bool leads = asyncKind == AsyncKind::MmaCommit;
  // kernel C31
  if (asyncKind != AsyncKind::Roles && role.getOnLeader() != leads)
    return role.emitOpError(leads ? "expected a role on_leader for "
                                  : "expected a role of both CTAs for ")
           << stringifyAsyncKind(asyncKind) << " of ring \"" << ring.getName()
           << "\", found a role " << (leads ? "of both CTAs" : "on_leader");
  for (Operation *loop : getLoops(port.take))
    if (llvm::any_of(loop->getOperands(), dependsOnRank)) {
      InFlightDiagnostic diag =
          loop->emitOpError("expected equally many iterations in both CTAs of "
                            "a pair, found operands that depend on "
                            "mxgpu.cta_rank"); // kernel C32
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
  // Each CTA of a pair computes its own work tiles of expert groups.
  if (type.getProducer() == AsyncKind::Groups)
    return kernel.isPair() ? verifyProducers() : success();
  // In a pair, a ring of one CTA is allowed if bulk copies or threads fill it
  // and threads read it.
  bool isCtaRing = kernel.isPair() && type.getScope() == Scope::Cta &&
                   (type.getProducer() == AsyncKind::Threads
                        ? type.isEmptiedByThreads()
                        : type.getProducer() == AsyncKind::BulkCopy &&
                              type.getConsumer() == AsyncKind::Threads);
  if (type.isPair() != kernel.isPair() && !isCtaRing) // kernel C33
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
