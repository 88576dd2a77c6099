//===- RingTypes.cpp - Types of a matmul's rings --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RingTypes.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

RingTypes::RingTypes(const MatmulProblem &problem, const ScheduleFields &fields)
    : problem(problem), fields(fields), context(problem.a.getContext()),
      ctas(fields.strategy.getCtas()),
      scope(ctas > 1 ? Scope::Pair : Scope::Cta), tileM(fields.tile[0]),
      tileN(fields.tile[1]), tileK(fields.tile[2]) {}

mxgpu::Swizzle RingTypes::getSwizzle(int64_t bytes) {
  return symbolizeSwizzle(static_cast<uint32_t>(bytes))
      .value_or(mxgpu::Swizzle::None);
}

RingType RingTypes::getRing(int64_t stages, ArrayRef<StringRef> names,
                            ArrayRef<BufferType> buffers, Side producer,
                            Side consumer, Scope scope, int64_t overlap) const {
  SmallVector<StringAttr> attrs;
  for (StringRef name : names)
    attrs.push_back(StringAttr::get(context, name));
  return RingType::get(context, stages, attrs, buffers, producer.kind,
                       producer.threads, consumer.kind, consumer.threads, scope,
                       overlap);
}

BufferType RingTypes::getBytes(int64_t rows, Type type, bool isSwizzled) const {
  int64_t bits = getStoredBits(type), bytes = tileK * bits / 8;
  if (type.getIntOrFloatBitWidth() < 8)
    type = IntegerType::get(context, 8);
  return BufferType::get(context, Space::Smem, {rows, bytes}, type,
                         isSwizzled ? getSwizzle(bytes) : mxgpu::Swizzle::None);
}

BufferType RingTypes::getDense(int64_t rows, bool isF16) const {
  Type type = isF16 ? Type(Float16Type::get(context))
                    : Type(BFloat16Type::get(context));
  int64_t elements = std::min<int64_t>(tileK, target::kDequantizedTileK);
  SmallVector<int64_t> shape = {rows, elements};
  if (tileK > elements)
    shape.insert(shape.begin(), tileK / elements);
  return BufferType::get(
      context, Space::Smem, shape, type,
      getSwizzle(elements * type.getIntOrFloatBitWidth() / 8));
}

RingType RingTypes::getDenseInputs(int64_t threads) const {
  return getRing(fields.stages, {"a"}, {getDense(tileM)}, {AsyncKind::BulkCopy},
                 {AsyncKind::AsyncThreads, threads}, Scope::Cta);
}

RingType RingTypes::getDenseBInputs(int64_t threads) const {
  return getRing(fields.stages, {"b"}, {getDense(tileN)}, {AsyncKind::BulkCopy},
                 {AsyncKind::AsyncThreads, threads}, Scope::Cta);
}

RingType RingTypes::getAInputs(int64_t threads) const {
  return getRing(
      fields.stages, {"a", "sfa"},
      {getBytes(tileM, problem.a, /*isSwizzled=*/true), getScales(tileM)},
      {AsyncKind::BulkCopy}, {AsyncKind::Threads, threads}, Scope::Cta);
}

RingType RingTypes::getBInputs(int64_t threads) const {
  int64_t rows = tileN / ctas;
  BufferType elements = problem.isPackedB
                            ? getPackedBuffer(problem.b, rows, tileK)
                            : getBytes(rows, problem.b, /*isSwizzled=*/true);
  return getRing(fields.stages, {"b", "sfb"}, {elements, getScales(rows)},
                 {AsyncKind::BulkCopy}, {AsyncKind::Threads, threads},
                 Scope::Cta);
}

RingType RingTypes::getOperands(int64_t stages, int64_t threads, Side consumer,
                                bool isF16) const {
  return getRing(stages, {"b"}, {getDense(tileN / ctas, isF16)},
                 {AsyncKind::Threads, threads}, consumer, scope);
}

RingType RingTypes::getAccumulators(int64_t stages, int64_t overlap) const {
  auto accumulator = BufferType::get(
      context, Space::Tmem,
      {tileM / ctas, target::accumulatorColumns(static_cast<unsigned>(ctas),
                                                static_cast<unsigned>(tileM),
                                                static_cast<unsigned>(tileN))},
      Float32Type::get(context), mxgpu::Swizzle::None);
  return getRing(stages, {"d"}, {accumulator}, {AsyncKind::MmaCommit},
                 {AsyncKind::Threads, kEpilogueWarps * target::kWarpSize},
                 scope, overlap);
}

FragmentLayoutAttr RingTypes::getTmemAccumulator() const {
  return FragmentLayoutAttr::getRowPerThread(context, tileN);
}

BufferType RingTypes::getScales(int64_t rows) const {
  return BufferType::get(context, Space::Smem,
                         {ceilDiv(rows, kScaleTileRows), getScaleTiles(), 2,
                          kScaleTileBytes / 2 / problem.getScaleBytes()},
                         problem.scales, Swizzle::None);
}

int64_t RingTypes::getScaleTiles() const {
  return ceilDiv(tileK, problem.getScaleTileK());
}

RingType RingTypes::getStaging(FragmentLayoutAttr accumulator,
                               bool joins) const {
  bool isPartial = fields.splitK > 1 && !fields.strategy.getClusterSplit();
  Type out = isPartial ? Type(Float32Type::get(context)) : problem.out;
  int64_t bits = out.getIntOrFloatBitWidth();
  int64_t width = tileN / problem.numB;
  int64_t columns = getStagedColumns(width, bits), stages = fields.staging;
  SmallVector<int64_t> shape = {accumulator.getWarpRows(), columns};
  if (joins && !problem.where && stages > 1 && stages * columns == width &&
      !ShapedType::isDynamic(problem.n) &&
      problem.n % (columns * problem.numB) == 0)
    shape.insert(shape.begin(), std::exchange(stages, 1));
  auto rows = BufferType::get(context, Space::Smem, shape, out,
                              getSwizzle(columns * bits / 8));
  return getRing(stages, {"c"}, {rows}, {AsyncKind::Threads, target::kWarpSize},
                 {AsyncKind::BulkStore}, Scope::Warp);
}

RingType RingTypes::getWorkTiles() const {
  bool isGrouped = problem.ragged != RaggedKind::None;
  if (!isGrouped && fields.strategy.getTileLoop() != TileLoop::Clc)
    return {};
  int64_t bytes = isGrouped ? kExpertWorkTileBytes : kClcAnswerBytes;
  auto workTile = BufferType::get(context, Space::Smem, {bytes},
                                  IntegerType::get(context, 8), Swizzle::None);
  return getRing(kWorkTileSlots, {"work_tile"}, {workTile},
                 {isGrouped ? AsyncKind::Groups : AsyncKind::Clc},
                 {AsyncKind::Roles}, isGrouped ? Scope::Cta : scope);
}

void RingTypes::addEpilogue(MatmulBuffers &buffers,
                            FragmentLayoutAttr accumulator, int64_t warps,
                            bool joins) const {
  buffers.accumulatorLayout = accumulator;
  buffers.epilogueWarps = warps;
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = getStaging(accumulator, joins);
  buffers.workTiles = getWorkTiles();
}
