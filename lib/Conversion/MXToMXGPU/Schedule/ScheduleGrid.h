//===- ScheduleGrid.h - Tiles of a problem, and their traffic ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Shapes that costs and candidates have in common. docs/ScheduleModel.md
// explains each formula.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULEGRID_H
#define MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULEGRID_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// A problem whose sizes are known or assumed, in units of a schedule.
struct Grid {
  /// Of a product, or of one of several: groups of a reduction have a segment
  /// of it each, of `k` elements, and a result.
  int64_t m, n, k, products;
  /// Rows of tiles of all products.
  int64_t rowTiles, columnTiles;
  /// CTAs, or pairs of them, that work at a time.
  int64_t workers;
  /// Bytes of all of A, and of what one product has of B, with their scales, as
  /// they lie in memory.
  int64_t aBytes, bBytes;
};

/// A size, or the one that stands for those that are not known.
int64_t orAssumed(int64_t size);

Grid getGrid(const MatmulProblem &problem, const ScheduleFields &fields,
             const target::TargetInfo &target);

/// Bytes of A and B that come from HBM, by what of them L2 still holds when
/// they are needed again.
int64_t getLoadTraffic(const Grid &grid, const ScheduleFields &fields,
                       int64_t cache);

/// Who asks has seen that the chip has products, and so rates.
const target::Rates &getRates(const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULEGRID_H
