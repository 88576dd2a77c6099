//===- BufferTypes.cpp - Types of a product's rings -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

RingType BufferTypes::getRing(int64_t stages, ArrayRef<StringRef> names,
                              ArrayRef<BufferType> buffers, Side producer,
                              Side consumer, Scope scope,
                              int64_t overlap) const {
  SmallVector<StringAttr> attrs;
  for (StringRef name : names)
    attrs.push_back(StringAttr::get(context, name));
  return RingType::get(context, stages, attrs, buffers, producer.kind,
                       producer.threads, consumer.kind, consumer.threads, scope,
                       overlap);
}

BufferType BufferTypes::getScales(int64_t rows) const {
  return BufferType::get(
      context, Space::Smem,
      {ceilDiv(rows, kScaleTileRows), getScaleTiles(), 2, kScaleTileBytes / 2},
      problem.scales, Swizzle::None);
}

int64_t BufferTypes::getScaleTiles() const {
  return ceilDiv(tileK, problem.getScaleTileK());
}

RingType BufferTypes::getStaging(FragmentLayoutAttr sums) const {
  Type out = fields.splitK > 1 ? Float32Type::get(context) : problem.out;
  int64_t bits = out.getIntOrFloatBitWidth();
  int64_t columns = getStagedColumns(tileN / problem.numB, bits);
  auto rows =
      BufferType::get(context, Space::Smem, {sums.getWarpRows(), columns}, out,
                      getSwizzle(columns * bits / 8));
  return getRing(fields.staging, {"c"}, {rows},
                 {AsyncKind::Threads, target::kWarpSize}, {AsyncKind::TmaStore},
                 Scope::Warp);
}

RingType BufferTypes::getUnits() const {
  bool isGrouped = problem.ragged != RaggedKind::None;
  if (!isGrouped && fields.tileLoop != TileLoop::Clc)
    return {};
  auto unit = BufferType::get(context, Space::Smem,
                              {isGrouped ? kGroupWorkTileBytes : kUnitBytes},
                              IntegerType::get(context, 8), Swizzle::None);
  return getRing(kUnitSlots, {"unit"}, {unit},
                 {isGrouped ? AsyncKind::Groups : AsyncKind::Clc},
                 {AsyncKind::Roles}, isGrouped ? Scope::Cta : scope);
}
