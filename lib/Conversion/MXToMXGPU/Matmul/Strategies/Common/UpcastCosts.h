//===- UpcastCosts.h - Costs of dequantizing B ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of kernels with warpgroups that dequantize B to shared memory
// (docs/design/ScheduleModel.md).
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTCOSTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTCOSTS_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// Cycles to dequantize an element of B to bf16 in a thread, including waits.
/// 13 to 17 cycles were measured on an H200.
inline constexpr int64_t kDequantizeCycles = 14;

/// Returns the number of elements of a B tile per dequantizing thread.
inline int64_t getDequantizedElements(const ScheduleFields &fields,
                                      const MatmulBuffers &buffers) {
  int64_t columns = fields.tile[1] / fields.strategy.getCtas();
  return ceilDiv(columns * fields.tile[2],
                 buffers.bInputs.getConsumerThreads());
}

/// Returns the cycles of a step in shared memory or in the threads that
/// dequantize B (`cyclesOfElement` per element), whichever is larger. A is
/// written and read once. B is written and read, and written again after
/// dequantization. The instructions of each row block then read the dequantized
/// B.
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
