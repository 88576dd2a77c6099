//===- MatmulBuffers.cpp - What a stage of each ring of a matmul holds ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the rings of all strategies add up to.
//
//===----------------------------------------------------------------------===//

#include "../Matmul/Kernel/Strategy.h"
#include "mx/Target/TargetInfo.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t MatmulProblem::getScaleTileK() const {
  return kScaleTileBlocks * product.blockSize;
}

int64_t mx::mxgpu::getStagedColumns(int64_t tileN, int64_t bits) {
  return std::gcd(tileN, kStagedRowBytes * 8 / bits);
}

MatmulBuffers mx::mxgpu::getBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields) {
  MatmulBuffers buffers =
      getStrategy(problem, fields).getBuffers(problem, fields);
  if (fields.clusterSplit)
    buffers.partBytes = getPartBytesOf(buffers.accumulatorLayout);
  return buffers;
}

/// In the order in which a kernel makes its rings.
static SmallVector<RingRequest, 4> getRequests(const MatmulBuffers &buffers) {
  SmallVector<RingRequest, 4> requests = {{"in", buffers.inputs}};
  if (buffers.bInputs)
    requests.push_back({"in_b", buffers.bInputs});
  if (buffers.operands)
    requests.push_back({"operands", buffers.operands});
  if (buffers.accumulators)
    requests.push_back({"acc", buffers.accumulators});
  if (buffers.staging)
    requests.push_back({"staging", buffers.staging, buffers.epilogueWarps});
  if (buffers.workTiles)
    requests.push_back({"units", buffers.workTiles});
  return requests;
}

static SmallVector<ScalesRequest, 2> getScales(const MatmulBuffers &buffers,
                                               int64_t slots) {
  if (!buffers.aScales)
    return {};
  return {{"sfa", buffers.aScales, slots}, {"sfb", buffers.bScales, slots}};
}

ScheduleBudget::ScheduleBudget(const MatmulBuffers &buffers,
                               int64_t scaleStages,
                               const target::TargetInfo &target)
    : MemoryLayout(getRequests(buffers), getScales(buffers, scaleStages),
                   buffers.partBytes),
      buffers(buffers) {
  tmemAllocated = target::tmemAllocationColumns(
      target, static_cast<unsigned>(tmem.getUsed()));
  // One more role requests work tiles.
  int64_t warps =
      buffers.epilogueWarps + buffers.otherWarps + (buffers.workTiles ? 1 : 0);
  threads = warps * target::kWarpSize;
}

ScheduleBudget mx::mxgpu::getBudget(const MatmulProblem &problem,
                                    const ScheduleFields &fields,
                                    const target::TargetInfo &target) {
  return ScheduleBudget(getBuffers(problem, fields), fields.scaleStages,
                        target);
}
