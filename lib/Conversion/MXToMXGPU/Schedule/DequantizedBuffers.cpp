//===- DequantizedBuffers.cpp - Rings of kernels that dequantize ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tiles of A go from shared memory to the registers of the MMA warpgroups,
// tiles of B through threads that dequantize them to a second ring, from which
// wgmma reads. It reads an A of bf16 where the loads put it. With swap_ab tiles
// of B go to the registers of the MMA warpgroups.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "ScheduleRules.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Conversion/MXToMXGPU/SwappedLayouts.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

struct DequantizedTypes : BufferTypes {
  using BufferTypes::BufferTypes;

  WgmmaAttr getMma() const {
    return WgmmaAttr::get(context, tileM, tileN, problem.product.getK(),
                          getWgmmaWarpgroups(tileM));
  }

  int64_t getThreads() const {
    return getWgmmaWarpgroups(tileM) * target::kWarpGroupSize;
  }

  int64_t getDequantizeThreads() const {
    return getDequantizeWarps(tileM, tileN) * target::kWarpSize;
  }

  /// An A of bf16 for `threads` that multiply.
  RingType getNumberInputs(int64_t threads) const {
    return getRing(fields.stages, {"a"}, {getNumbers(tileM)},
                   {AsyncKind::BulkCopy}, {AsyncKind::AsyncThreads, threads},
                   Scope::Cta);
  }

  RingType getAInputs() const {
    if (!problem.hasScalesOfA())
      return getNumberInputs(getThreads());
    return getRing(
        fields.stages, {"a", "sfa"},
        {getBytes(tileM, problem.a, /*isSwizzled=*/false), getScales(tileM)},
        {AsyncKind::BulkCopy}, {AsyncKind::Threads, getThreads()}, Scope::Cta);
  }
};

} // namespace

MatmulBuffers mx::mxgpu::getDequantizedBuffers(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  DequantizedTypes types(problem, fields);
  MatmulBuffers buffers;
  buffers.inputs = types.getAInputs();
  buffers.bInputs = types.getBInputs(types.getDequantizeThreads());
  buffers.operands =
      types.getOperands(types.getDequantizeThreads(),
                        {AsyncKind::AsyncThreads, types.getThreads()});
  buffers.mma = types.getMma();
  buffers.sums = DequantizedLayouts(types.getMma(), types.tileK,
                                    problem.hasScalesOfA(), problem.isPackedB)
                     .getResult();
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging(buffers.sums);
  buffers.units = types.getUnits();
  buffers.epilogueWarps = types.getThreads() / target::kWarpSize;
  buffers.otherWarps = getDequantizeWarps(types.tileM, types.tileN) + 1;
  return buffers;
}

MatmulBuffers mx::mxgpu::getSwappedBuffers(const MatmulProblem &problem,
                                           const ScheduleFields &fields) {
  DequantizedTypes types(problem, fields);
  WgmmaAttr mma = getSwappedMma(problem, fields);
  int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
  MatmulBuffers buffers;
  buffers.inputs = types.getNumberInputs(threads);
  buffers.bInputs = types.getBInputs(threads);
  buffers.mma = mma;
  buffers.sums = SwappedLayouts(mma, types.tileK, problem.numB).getResult();
  buffers.units = types.getUnits();
  buffers.epilogueWarps = threads / target::kWarpSize;
  buffers.otherWarps = 1; // loads
  return buffers;
}
