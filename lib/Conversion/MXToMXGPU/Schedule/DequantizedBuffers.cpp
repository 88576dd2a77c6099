//===- DequantizedBuffers.cpp - Rings of kernels that dequantize ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tiles of A go from shared memory to the registers of those who multiply,
// tiles of B through threads that dequantize them to a second ring, from which
// wgmma reads. It reads an A of bf16 where the loads put it.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "ScheduleRules.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"

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

  /// Elements narrower than a byte come as bytes. Rows that threads read alone
  /// are swizzled; a row that adjacent threads share needs none.
  BufferType getInput(int64_t rows, Type type, bool isSwizzled) const {
    int64_t bits = getStoredBits(type), bytes = tileK * bits / 8;
    if (type.getIntOrFloatBitWidth() < 8)
      type = IntegerType::get(context, 8);
    return BufferType::get(context, Space::Smem, {rows, bytes}, type,
                           isSwizzled ? getSwizzle(bytes)
                                      : mxgpu::Swizzle::None);
  }

  /// As wgmma reads it.
  BufferType getNumbers(int64_t rows) const {
    Type type = BFloat16Type::get(context);
    return BufferType::get(
        context, Space::Smem, {rows, tileK}, type,
        getSwizzle(tileK * type.getIntOrFloatBitWidth() / 8));
  }

  RingType getAInputs() const {
    if (!problem.hasScalesOfA())
      return getRing(fields.stages, {"a"}, {getNumbers(tileM)},
                     {AsyncKind::Tma}, {AsyncKind::Wgmma, getThreads()},
                     Scope::Cta);
    return getRing(
        fields.stages, {"a", "sfa"},
        {getInput(tileM, problem.a, /*isSwizzled=*/false), getScales(tileM)},
        {AsyncKind::Tma}, {AsyncKind::Threads, getThreads()}, Scope::Cta);
  }

  RingType getBInputs() const {
    BufferType elements = problem.isPackedB
                              ? getPackedBuffer(problem.b, tileN, tileK)
                              : getInput(tileN, problem.b, /*isSwizzled=*/true);
    return getRing(fields.stages, {"b", "sfb"}, {elements, getScales(tileN)},
                   {AsyncKind::Tma},
                   {AsyncKind::Threads, getDequantizeThreads()}, Scope::Cta);
  }

  RingType getOperands() const {
    return getRing(fields.operandStages, {"b"}, {getNumbers(tileN)},
                   {AsyncKind::Threads, getDequantizeThreads()},
                   {AsyncKind::Wgmma, getThreads()}, Scope::Cta);
  }
};

} // namespace

MatmulBuffers mx::mxgpu::getDequantizedBuffers(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  DequantizedTypes types(problem, fields);
  MatmulBuffers buffers;
  buffers.inputs = types.getAInputs();
  buffers.bInputs = types.getBInputs();
  buffers.operands = types.getOperands();
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
