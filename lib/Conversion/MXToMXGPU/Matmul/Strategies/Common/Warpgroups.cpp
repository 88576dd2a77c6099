//===- Warpgroups.cpp - How many warpgroups have which role ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Warpgroups.h"
#include "mx/Target/Wgmma.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getWgmmaWarpgroups(int64_t rows) {
  return rows >= 2 * target::kWgmmaM ? 2 : 1;
}

int64_t mx::mxgpu::getRegistersOfWarpgroups(int64_t groups,
                                            const target::TargetInfo &target) {
  return groups * llvm::alignDown(target.registersPerSm / groups /
                                      target::kWarpGroupSize,
                                  target::kSetMaxNRegStep);
}

std::optional<ScheduleError>
mx::mxgpu::checkTwoRoles(const ScheduleFields &fields, int64_t groups,
                         ArrayRef<int64_t> least,
                         const target::TargetInfo &target) {
  ArrayRef<int64_t> found = fields.registers;
  int64_t all = getRegistersOfWarpgroups(groups + 1, target);
  if (found.size() == 2 && found[0] >= least[0] && found[1] >= least[1] &&
      groups * found[0] + found[1] <= all)
    return std::nullopt;
  return refuse(
      "expected at least {0} registers where a tile of {1} x {2} is multiplied "
      "and {3} where tiles are loaded, in {4} and 1 warpgroups that have at "
      "most {5} together, found registers = [{6:$[, ]}]",
      least[0], fields.tile[0], fields.tile[1], least[1], groups, all,
      llvm::make_range(found.begin(), found.end()));
}

static constexpr int64_t kMmaSyncGroups = 2,
                         kMmaSyncWarps =
                             kMmaSyncGroups * target::kWarpGroupWarps;

static int64_t getWarps(MmaSyncAttr mma) {
  return mma.getWarps() * mma.getColumnWarps();
}

/// With the registers that three warpgroups can be launched with, ptxas 13.0
/// spills up to 400 bytes where threads have 128 accumulators. Of 64 to which
/// groups add what the result holds it loads all of that before it stores, and
/// spills up to 64 bytes; where the reduction is unknown and scales are masked
/// it spills 4.
SmallVector<int64_t>
mx::mxgpu::getMmaSyncRegisters(const MatmulProblem &problem, MmaSyncAttr mma) {
  constexpr int64_t kMany = 128;
  if (getWarps(mma) != kMmaSyncWarps)
    return {};
  int64_t accumulators =
      mma.getWarpRows() * mma.getWarpColumns() / target::kWarpSize;
  if (ShapedType::isDynamic(problem.k) ||
      (problem.accumulate && problem.ragged != RaggedKind::None))
    accumulators *= 2;
  if (accumulators < kMany)
    return {};
  return {232, 40};
}

std::optional<ScheduleError>
mx::mxgpu::checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                                 const target::TargetInfo &target) {
  constexpr int64_t kLeast[] = {216, 24};
  if (getWarps(mma) == kMmaSyncWarps)
    return checkTwoRoles(fields, kMmaSyncGroups, kLeast, target);
  return refuse("expected registers only where {0} warps multiply, found {1}: "
                "ptxas chooses those of others",
                kMmaSyncWarps, getWarps(mma));
}

int64_t mx::mxgpu::getMmaSyncReadCycles(MmaSyncAttr mma,
                                        const MatmulProblem &problem,
                                        int64_t depth,
                                        const target::Rates &rates) {
  int64_t bits = mma.getWarpRows() * getStoredBits(problem.a) +
                 mma.getWarpColumns() * getStoredBits(problem.b);
  int64_t warps = mma.getWarps() * mma.getColumnWarps();
  return ceilDiv(warps * bits * depth, 8 * rates.smemReadBytesPerClk);
}
