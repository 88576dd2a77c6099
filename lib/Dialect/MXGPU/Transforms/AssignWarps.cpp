//===- AssignWarps.cpp - Warps and registers of roles ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUASSIGNWARPS
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

static constexpr int64_t kWarps = target::kWarpGroupWarps;

static void assignWarps(KernelOp kernel) {
  ArrayRef<int64_t> registers;
  if (ScheduleAttr schedule = kernel.getScheduleAttr())
    registers = schedule.getRegisters();
  auto divides = [&](RoleOp role) {
    return !registers.empty() && role.getWarps() % kWarps == 0;
  };
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  std::stable_partition(roles.begin(), roles.end(), [&](RoleOp role) {
    return divides(role) || role.getWarpMultiple() > 1;
  });
  auto builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
  int64_t next = 0;
  for (RoleOp role : roles) {
    IntegerAttr count;
    if (!registers.empty())
      count = builder.getI64IntegerAttr(divides(role) ? registers.front()
                                                      : registers.back());
    registers = registers.drop_front(divides(role) && registers.size() > 1);
    AssignWarpsOp::create(builder, role.getLoc(), role.getSymNameAttr(),
                          builder.getI64IntegerAttr(next), count);
    next += role.getWarps();
  }
}

LogicalResult mxgpu::verifyWarps(KernelOp kernel) {
  if (kernel.getBody().getOps<AssignWarpsOp>().empty())
    return success();
  FailureOr<SmallVector<RoleOp>> roles = getRolesByWarp(kernel);
  if (failed(roles))
    return failure();
  int64_t next = 0, before = 0; // registers, or 0 if not assigned
  for (RoleOp role : *roles) {
    AssignWarpsOp assign = role.getAssignment();
    int64_t first = assign.getFirstWarp(), warps = role.getWarps();
    if (first != next) // assign_warps C4
      return assign.emitOpError("expected the role to start at warp ")
             << next << ", right after the preceding roles, found " << first;
    int64_t registers = role.getRegisters().value_or(0);
    // assign_warps C5: setmaxnreg redistributes registers between warpgroups.
    if (next && (next % kWarps ? registers != before : !registers != !before))
      return assign.emitOpError("expected register counts for every role or "
                                "for none, equal within each warpgroup, found ")
             << registers << " after a role with " << before;
    bool reads = false;
    role.walk([&](LoadAccumulatorOp) { reads = true; });
    int64_t multiple = role.getWarpMultiple();
    // assign_warps C6
    if (first % multiple || warps % multiple || (reads && warps > multiple))
      return assign.emitOpError("expected ")
             << (reads ? "" : "a multiple of ") << multiple
             << " warps that start at a multiple of " << multiple
             << ", because " << multiple
             << " warps execute an instruction together, found " << warps
             << " warps from warp " << first;
    before = registers;
    next += warps;
  }
  return success();
}

namespace {
struct AssignWarpsPass final
    : mxgpu::impl::MXGPUAssignWarpsBase<AssignWarpsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getBody().getOps<AssignWarpsOp>().empty())
        assignWarps(kernel);
  }
};
} // namespace
