//===- UpcastCosts.h - What dequantizing B costs -------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Costs of kernels whose warpgroups dequantize B to shared memory
// (docs/design/ScheduleModel.md).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTCOSTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTCOSTS_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// Cycles in which a thread dequantizes an element of B to bf16, with its part
/// of the waits of a step: 13 to 17 were measured on an H200.
inline constexpr int64_t kDequantizeCycles = 14;

/// Elements of B that each of the threads has that dequantize a tile of it.
inline int64_t getDequantizedElements(const ScheduleFields &fields,
                                      const MatmulBuffers &buffers) {
  int64_t columns = fields.tile[1] / fields.strategy.getCtas();
  return ceilDiv(columns * fields.tile[2],
                 buffers.bInputs.getConsumerThreads());
}

/// Cycles of shared memory in a step, or of the threads that dequantize B,
/// `cyclesOfElement` for an element. A is written and read once, B twice, as it
/// is and dequantized, and the latter again by the instructions of all rows.
inline int64_t getUpcastPortCycles(const MatmulProblem &problem,
                                   const ScheduleFields &fields,
                                   const MatmulBuffers &buffers,
                                   const target::Rates &rates,
                                   int64_t cyclesOfElement) {
  int64_t a = buffers.inputs.getStageBytes();
  int64_t b = buffers.bInputs.getStageBytes();
  int64_t rows = fields.tile[0] / fields.strategy.getCtas();
  int64_t reads = rows / problem.mma.instruction->rows;
  int64_t bytes =
      2 * a + 2 * b + (1 + reads) * buffers.operands.getStageBytes();
  return std::max(ceilDiv(bytes, rates.smemReadBytesPerClk),
                  getDequantizedElements(fields, buffers) * cyclesOfElement);
}

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTCOSTS_H
