//===- LowerRoles.cpp - Roles as branches on the warp ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each way through the chain of branches runs one role, or none: what
// setmaxnreg changes in one role then holds in no other (ptxas counts along all
// ways that it sees).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

/// The number of registers that this warp runs with from here on.
static void setRegisters(NVVMBuilder &builder, RoleOp role, int64_t launched) {
  int64_t registers = *role.getRegisters();
  if (registers != launched)
    builder.setRegisters(registers, /*more=*/registers > launched);
}

static void enterIf(NVVMBuilder &builder, Value condition) {
  auto ifOp = scf::IfOp::create(builder, condition, /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
}

/// Numbers of the role's threads follow from those of the CTA's.
static void lowerThreadIds(RoleOp role) {
  SmallVector<ThreadIdOp> ids;
  role.walk([&](ThreadIdOp id) { ids.push_back(id); });
  for (ThreadIdOp id : ids) {
    NVVMBuilder builder(id.getLoc(), id.getContext());
    builder.setInsertionPoint(id);
    Value inRole = arith::SubIOp::create(
        builder, builder.threadId(),
        builder.i32(*role.getFirstWarp() * mx::target::kWarpSize));
    Value index =
        arith::IndexCastUIOp::create(builder, builder.getIndexType(), inRole);
    id.replaceAllUsesWith(index);
    id.erase();
  }
}

/// So do those of warps that issue a matrix instruction together.
static void numberWarps(RoleOp role) {
  if (int64_t first = *role.getFirstWarp())
    role.walk([&](MmaOp mma) {
      if (mma.getKind().getRoles().threads > 1)
        mma.setFirstWarp(first);
    });
}

/// Puts what the warps of a role do here, or one thread of them if it is
/// elected. The warp meets again afterwards: the next instruction may need all
/// its threads.
static void inlineRole(NVVMBuilder &builder, RoleOp role,
                       std::optional<int64_t> launchedRegisters) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setLoc(role.getLoc());
  // All warps of a warpgroup, whatever their roles.
  if (launchedRegisters)
    setRegisters(builder, role, *launchedRegisters);
  if (role.getOnLeader())
    enterIf(builder, builder.isLeader());
  if (role.getElected()) {
    auto elected =
        scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
    builder.syncWarp();
    builder.setInsertionPointToStart(elected.thenBlock());
  }
  Block *block = builder.getInsertionBlock();
  block->getOperations().splice(builder.getInsertionPoint(),
                                role.getBody().front().getOperations());
}

void mx::mxgpu::lowerRoles(KernelOp kernel) {
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  std::optional<int64_t> registers = kernel.getRegisters();
  NVVMBuilder builder(kernel.getLoc(), kernel.getContext());
  builder.setInsertionPointAfter(roles.back());
  Value warp = builder.warpInCta();
  for (RoleOp role : roles) {
    lowerThreadIds(role);
    numberWarps(role);
    bool isLast = role == roles.back() && !registers;
    Value relative =
        arith::SubIOp::create(builder, warp, builder.i32(*role.getFirstWarp()));
    Value isRole = builder.isBelow(relative, builder.i32(role.getWarps()));
    auto ifOp = scf::IfOp::create(builder, isRole, /*withElse=*/!isLast);
    OpBuilder::InsertPoint next = builder.saveInsertionPoint();
    if (!isLast)
      next =
          OpBuilder::InsertPoint(ifOp.elseBlock(), ifOp.elseBlock()->begin());
    builder.setInsertionPointToStart(ifOp.thenBlock());
    inlineRole(builder, role, registers);
    builder.restoreInsertionPoint(next);
  }
  // Warps without a role belong to a warpgroup too.
  if (registers)
    setRegisters(builder, roles.back(), *registers);
  for (RoleOp role : roles)
    role.erase();
}
