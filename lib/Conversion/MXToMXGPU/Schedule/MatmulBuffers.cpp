//===- MatmulBuffers.cpp - What a stage of each ring of a matmul holds ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each CTA of a pair holds its half of the rows of A and of B, the scales of
// its rows of A and those of all columns.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/TargetInfo.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Types of a matmul's rings and scales.
struct BufferTypes {
  const MatmulProblem &problem;
  const ScheduleFields &fields;
  MLIRContext *context = problem.a.getContext();
  int64_t ctas = fields.ctaPair ? 2 : 1;
  Scope scope = fields.ctaPair ? Scope::Pair : Scope::Cta;
  int64_t tileM = fields.tile[0], tileN = fields.tile[1],
          tileK = fields.tile[2];

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

  /// The swizzle that is as long as a row, or none if there is no such swizzle.
  static mxgpu::Swizzle getSwizzle(int64_t bytes) {
    return symbolizeSwizzle(static_cast<uint32_t>(bytes))
        .value_or(mxgpu::Swizzle::None);
  }

  /// Whole scale tiles, each as two rows of 256 bytes, the longest that a box
  /// can have.
  BufferType getScales(int64_t rows) const {
    return BufferType::get(context, Space::Smem,
                           {ceilDiv(rows, kScaleTileRows), getScaleTiles(), 2,
                            kScaleTileBytes / 2},
                           problem.scales, mxgpu::Swizzle::None);
  }

  ScalesType getTmemScales(int64_t rows) const {
    return ScalesType::get(context, roundUp(rows, kScaleTileRows),
                           getScaleTiles(), problem.scales);
  }

  int64_t getScaleTiles() const {
    return ceilDiv(tileK, problem.getScaleTileK());
  }

  RingType getRing(int64_t stages, ArrayRef<StringRef> names,
                   ArrayRef<BufferType> buffers, AsyncKind producer,
                   int64_t producerThreads, AsyncKind consumer,
                   int64_t consumerThreads, Scope scope,
                   int64_t overlap = 0) const {
    SmallVector<StringAttr> attrs;
    for (StringRef name : names)
      attrs.push_back(StringAttr::get(context, name));
    return RingType::get(context, stages, attrs, buffers, producer,
                         producerThreads, consumer, consumerThreads, scope,
                         overlap);
  }

  RingType getInputs() const {
    return getRing(fields.stages, {"a", "b", "sfa", "sfb"},
                   {getOperand(tileM / ctas, problem.a, *problem.product.a),
                    getOperand(tileN / ctas, problem.b, *problem.product.b),
                    getScales(tileM / ctas), getScales(tileN)},
                   AsyncKind::Tma, 1, AsyncKind::Mma, 1, scope);
  }

  RingType getAccumulators() const {
    auto sums = BufferType::get(
        context, Space::Tmem,
        {tileM / ctas,
         target::accumulatorColumns(static_cast<unsigned>(ctas),
                                    static_cast<unsigned>(tileM),
                                    static_cast<unsigned>(tileN))},
        Float32Type::get(context), mxgpu::Swizzle::None);
    return getRing(fields.accumulators, {"d"}, {sums}, AsyncKind::Mma, 1,
                   AsyncKind::Threads, kEpilogueWarps * target::kWarpSize,
                   scope, fields.overlap);
  }

  /// The sums of a split reduction are stored as f32.
  RingType getStaging() const {
    Type out = fields.splitK > 1 ? Float32Type::get(context) : problem.out;
    int64_t bits = out.getIntOrFloatBitWidth();
    int64_t columns = getStagedColumns(tileN / problem.numB, bits);
    int64_t warpRows =
        getMma().getSumType(out, columns).getLayout().getWarpRows();
    auto rows = BufferType::get(context, Space::Smem, {warpRows, columns}, out,
                                getSwizzle(columns * bits / 8));
    return getRing(fields.staging, {"c"}, {rows}, AsyncKind::Threads,
                   target::kWarpSize, AsyncKind::TmaStore, 1, Scope::Warp);
  }

  MmaAttrInterface getMma() const {
    auto kind = static_cast<mxgpu::MmaKind>(problem.product.kind);
    return Tcgen05MmaAttr::get(context, kind, tileM, tileN, ctas,
                               problem.product.blockSize);
  }

  /// A dedicated warp passes the work tiles to the other roles.
  RingType getUnits() const {
    bool isGrouped = problem.ragged != RaggedKind::None;
    if (!isGrouped && fields.tileLoop != TileLoop::Clc)
      return {};
    auto unit = BufferType::get(
        context, Space::Smem, {isGrouped ? kGroupWorkTileBytes : kUnitBytes},
        IntegerType::get(context, 8), mxgpu::Swizzle::None);
    return getRing(kUnitSlots, {"unit"}, {unit},
                   isGrouped ? AsyncKind::Groups : AsyncKind::Clc, 1,
                   AsyncKind::Roles, 1, isGrouped ? Scope::Cta : scope);
  }
};

} // namespace

int64_t MatmulProblem::getScaleTileK() const {
  return kScaleTileBlocks * product.blockSize;
}

int64_t mx::mxgpu::getStagedColumns(int64_t tileN, int64_t bits) {
  return std::gcd(tileN, kStagedRowBytes * 8 / bits);
}

MatmulBuffers mx::mxgpu::getBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields) {
  BufferTypes types{problem, fields};
  MatmulBuffers buffers;
  buffers.inputs = types.getInputs();
  buffers.accumulators = types.getAccumulators();
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging();
  buffers.units = types.getUnits();
  buffers.aScales = types.getTmemScales(fields.tile[0] / types.ctas);
  buffers.bScales = types.getTmemScales(fields.tile[1]);
  buffers.mma = types.getMma();
  return buffers;
}

/// In the order in which a kernel makes its rings.
static SmallVector<RingRequest, 4> getRequests(const MatmulBuffers &buffers) {
  SmallVector<RingRequest, 4> requests = {{"in", buffers.inputs},
                                          {"acc", buffers.accumulators}};
  if (buffers.staging)
    requests.push_back({"staging", buffers.staging, kEpilogueWarps});
  if (buffers.units)
    requests.push_back({"units", buffers.units});
  return requests;
}

ScheduleBudget::ScheduleBudget(const MatmulBuffers &buffers,
                               int64_t scaleStages,
                               const target::TargetInfo &target)
    : MemoryLayout(getRequests(buffers),
                   {{"sfa", buffers.aScales, scaleStages},
                    {"sfb", buffers.bScales, scaleStages}}),
      buffers(buffers) {
  tmemAllocated = target::tmemAllocationColumns(
      target, static_cast<unsigned>(tmem.getUsed()));
  // The epilogue, the loads, the tensor core, and the role that requests work
  // tiles.
  threads = (kEpilogueWarps + 2 + (buffers.units ? 1 : 0)) * target::kWarpSize;
}

ScheduleBudget mx::mxgpu::getBudget(const MatmulProblem &problem,
                                    const ScheduleFields &fields,
                                    const target::TargetInfo &target) {
  return ScheduleBudget(getBuffers(problem, fields), fields.scaleStages,
                        target);
}
