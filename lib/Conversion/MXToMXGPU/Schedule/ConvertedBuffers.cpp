//===- ConvertedBuffers.cpp - Rings of kernels that convert B -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tiles of A, bf16, go to the tensor core as they are. Tiles of B go through
// threads that dequantize them to a second ring, from which it reads. Sums come
// back in tensor memory, where nothing else lies. Each CTA of a pair holds half
// of the rows of A and of B.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "ScheduleRules.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

struct ConvertedTypes : BufferTypes {
  using BufferTypes::BufferTypes;

  MmaAttrInterface getMma() const {
    return Tcgen05MmaAttr::get(context, MmaKind::F16, tileM, tileN, ctas,
                               /*block=*/0);
  }

  RingType getAInputs() const {
    return getRing(fields.stages, {"a"}, {getNumbers(tileM / ctas)},
                   {AsyncKind::BulkCopy}, {AsyncKind::MmaCommit}, scope);
  }
};

} // namespace

MatmulBuffers mx::mxgpu::getConvertedBuffers(const MatmulProblem &problem,
                                             const ScheduleFields &fields) {
  ConvertedTypes types(problem, fields);
  int64_t warps = getConvertingWarps(types.tileN / types.ctas);
  MatmulBuffers buffers;
  buffers.inputs = types.getAInputs();
  buffers.bInputs = types.getBInputs(warps * target::kWarpSize);
  buffers.operands =
      types.getOperands(warps * target::kWarpSize, {AsyncKind::MmaCommit});
  buffers.accumulators = types.getAccumulators();
  buffers.mma = types.getMma();
  buffers.sums = types.getTmemSums(buffers.mma);
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging(buffers.sums);
  buffers.units = types.getUnits();
  buffers.epilogueWarps = kEpilogueWarps;
  buffers.otherWarps = warps + 2; // loads, and the tensor core
  return buffers;
}
