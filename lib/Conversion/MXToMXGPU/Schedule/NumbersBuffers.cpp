//===- NumbersBuffers.cpp - Rings of products without scales --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One ring: the copy engine fills it with tiles of A and of B, and wgmma reads
// both there. Each CTA of a pair has half of the rows of A, and all of B, of
// which each loads half for both.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "ScheduleRules.h"
#include "mx/Conversion/MXToMXGPU/NumbersLayouts.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

MatmulBuffers mx::mxgpu::getNumbersBuffers(const MatmulProblem &problem,
                                           const ScheduleFields &fields) {
  BufferTypes types(problem, fields);
  auto mma = WgmmaAttr::get(types.context, types.tileM / types.ctas,
                            types.tileN, problem.product.getK(),
                            getWgmmaWarpgroups(types.tileM / types.ctas));
  int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
  MatmulBuffers buffers;
  buffers.inputs = types.getRing(
      fields.stages, {"a", "b"},
      {types.getNumbers(types.tileM / types.ctas),
       types.getNumbers(types.tileN)},
      {AsyncKind::BulkCopy}, {AsyncKind::AsyncThreads, threads}, types.scope);
  buffers.mma = mma;
  buffers.sums =
      NumbersLayouts(mma, types.tileK, problem.isQuantized).getResult();
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging(buffers.sums);
  buffers.units = types.getUnits();
  buffers.epilogueWarps = threads / target::kWarpSize;
  buffers.otherWarps = 1; // loads
  return buffers;
}
