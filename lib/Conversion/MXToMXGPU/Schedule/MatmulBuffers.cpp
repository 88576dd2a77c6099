//===- MatmulBuffers.cpp - What a stage of each ring of a matmul holds ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each CTA of a pair holds its half of the rows of A and of B, the scales of
// its rows of A and those of all columns.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "mx/Target/TargetInfo.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Types of tensor cores that take operands and scales as they are.
struct BlockScaledTypes : BufferTypes {
  using BufferTypes::BufferTypes;

  /// Rows as long as the swizzle's span, at most 128 bytes; several panels if
  /// the reduction is longer.
  BufferType getOperand(int64_t rows, Type type,
                        const target::OperandForm &form) const {
    int64_t bits = target::getInfo(form.mapType).smemBits;
    int64_t elements =
        std::min(tileK, static_cast<int64_t>(mxgpu::Swizzle::Sw128) * 8 / bits);
    SmallVector<int64_t> shape = {rows, elements};
    if (tileK > elements)
      shape.insert(shape.begin(), tileK / elements);
    return BufferType::get(context, Space::Smem, shape, type,
                           getSwizzle(elements * bits / 8), form.padded);
  }

  ScalesType getTmemScales(int64_t rows) const {
    return ScalesType::get(context, roundUp(rows, kScaleTileRows),
                           getScaleTiles(), problem.scales);
  }

  RingType getInputs() const {
    return getRing(fields.stages, {"a", "b", "sfa", "sfb"},
                   {getOperand(tileM / ctas, problem.a, *problem.product.a),
                    getOperand(tileN / ctas, problem.b, *problem.product.b),
                    getScales(tileM / ctas), getScales(tileN)},
                   {AsyncKind::Tma}, {AsyncKind::Mma}, scope);
  }

  RingType getAccumulators() const {
    auto sums = BufferType::get(
        context, Space::Tmem,
        {tileM / ctas,
         target::accumulatorColumns(static_cast<unsigned>(ctas),
                                    static_cast<unsigned>(tileM),
                                    static_cast<unsigned>(tileN))},
        Float32Type::get(context), mxgpu::Swizzle::None);
    return getRing(fields.accumulators, {"d"}, {sums}, {AsyncKind::Mma},
                   {AsyncKind::Threads, kEpilogueWarps * target::kWarpSize},
                   scope, fields.overlap);
  }

  MmaAttrInterface getMma() const {
    auto kind = static_cast<mxgpu::MmaKind>(problem.product.kind);
    return Tcgen05MmaAttr::get(context, kind, tileM, tileN, ctas,
                               problem.product.blockSize);
  }

  FragmentLayoutAttr getSums() const {
    FragmentDigits digits = getMma().getSumDigits(tileN);
    return FragmentLayoutAttr::get(context, digits.threads, digits.values);
  }
};

} // namespace

int64_t MatmulProblem::getScaleTileK() const {
  return kScaleTileBlocks * product.blockSize;
}

int64_t mx::mxgpu::getStagedColumns(int64_t tileN, int64_t bits) {
  return std::gcd(tileN, kStagedRowBytes * 8 / bits);
}

static MatmulBuffers getBlockScaledBuffers(const MatmulProblem &problem,
                                           const ScheduleFields &fields) {
  BlockScaledTypes types(problem, fields);
  MatmulBuffers buffers;
  buffers.inputs = types.getInputs();
  buffers.accumulators = types.getAccumulators();
  buffers.sums = types.getSums();
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging(buffers.sums);
  buffers.units = types.getUnits();
  buffers.aScales = types.getTmemScales(fields.tile[0] / types.ctas);
  buffers.bScales = types.getTmemScales(fields.tile[1]);
  buffers.mma = types.getMma();
  buffers.epilogueWarps = kEpilogueWarps;
  buffers.otherWarps = 2; // loads, and the tensor core
  return buffers;
}

MatmulBuffers mx::mxgpu::getBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields) {
  switch (problem.product.family) {
  case target::MmaFamily::Tcgen05:
    return getBlockScaledBuffers(problem, fields);
  case target::MmaFamily::Wgmma:
    return getDequantizedBuffers(problem, fields);
  case target::MmaFamily::MmaSync:
    break;
  }
  llvm_unreachable("a family without products");
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
  if (buffers.units)
    requests.push_back({"units", buffers.units});
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
    : MemoryLayout(getRequests(buffers), getScales(buffers, scaleStages)),
      buffers(buffers) {
  tmemAllocated = target::tmemAllocationColumns(
      target, static_cast<unsigned>(tmem.getUsed()));
  // One more role requests work tiles.
  int64_t warps =
      buffers.epilogueWarps + buffers.otherWarps + (buffers.units ? 1 : 0);
  threads = warps * target::kWarpSize;
}

ScheduleBudget mx::mxgpu::getBudget(const MatmulProblem &problem,
                                    const ScheduleFields &fields,
                                    const target::TargetInfo &target) {
  return ScheduleBudget(getBuffers(problem, fields), fields.scaleStages,
                        target);
}
