//===- QuantizeSchedule.h - Schedules of quantizers ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZESCHEDULE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZESCHEDULE_H

#include "../Conversions.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Returns true if a quantizer processes tiles in shared memory. Other
/// quantizers process rows in registers.
bool isByTiles(FusedQuantizeOp op);

/// Returns true if blocks divide the columns of a tile and the rows of a stage.
bool holdsBlocks(FusedQuantizeOp op, QuantizeScheduleAttr schedule);

/// Returns the rows and columns of a tile. Along rows, tiles are reshaped to at
/// least four blocks per row, whose scales are adjacent in a scale tile.
llvm::SmallVector<int64_t> getTileShape(FusedQuantizeOp op,
                                        QuantizeScheduleAttr schedule);

/// Returns the fastest measured schedule (QuantizeSchedules.def).
QuantizeScheduleAttr selectQuantizeSchedule(FusedQuantizeOp op,
                                            const target::TargetInfo &target);
QuantizeScheduleAttr
selectDequantizeSchedule(const DequantizeOperands &operands);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZESCHEDULE_H
