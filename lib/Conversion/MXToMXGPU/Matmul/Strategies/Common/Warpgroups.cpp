//===- Warpgroups.cpp - How many warpgroups have which role ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Warpgroups.h"
#include "mx/Target/Wgmma.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getWgmmaWarpgroups(int64_t rows) {
  return rows >= 2 * target::kWgmmaM ? 2 : 1;
}

int64_t mx::mxgpu::getRegistersOfGroups(int64_t groups,
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
  int64_t all = getRegistersOfGroups(groups + 1, target);
  if (found.size() == 2 && found[0] >= least[0] && found[1] >= least[1] &&
      groups * found[0] + found[1] <= all)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected at least {0} registers where a tile of {1} x {2} "
                    "is multiplied and {3} where tiles are loaded, in {4} and "
                    "1 warpgroups that have at most {5} together, found "
                    "registers = [{6:$[, ]}]",
                    least[0], fields.tile[0], fields.tile[1], least[1], groups,
                    all, llvm::make_range(found.begin(), found.end())),
      {}};
}
