//===- PackedWeights.cpp - Who holds what of packed weights ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/WeightLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Digits of one value count nothing.
static FragmentLayoutAttr getLayout(MLIRContext *context,
                                    ArrayRef<FragmentDigit> threads,
                                    ArrayRef<FragmentDigit> values) {
  auto isMore = [](const FragmentDigit &digit) { return digit.size > 1; };
  return FragmentLayoutAttr::get(context,
                                 llvm::filter_to_vector(threads, isMore),
                                 llvm::filter_to_vector(values, isMore));
}

BufferType mx::mxgpu::getPackedBuffer(Type element, int64_t rows) {
  MLIRContext *context = element.getContext();
  int64_t bytes = kWeightTileValues * getStoredBits(element) / 8;
  if (element.getIntOrFloatBitWidth() < 8)
    element = IntegerType::get(context, 8);
  // A swizzle as long as a row, if there is one, keeps those that threads read
  // together in different banks.
  auto swizzle = symbolizeSwizzle(static_cast<uint32_t>(bytes))
                     .value_or(mxgpu::Swizzle::None);
  return BufferType::get(context, Space::Smem,
                         {rows / kWeightTileRows * kWeightTileThreads, bytes},
                         element, swizzle);
}

namespace {
/// How tiles are dealt out to warpgroups.
struct TileDigits {
  TileDigits(int64_t threads, int64_t rows)
      : groups(threads / kWeightTileThreads),
        perGroup(rows / kWeightTileRows / groups) {}

  int64_t groups, perGroup;
};
} // namespace

FragmentLayoutAttr mx::mxgpu::getPackedPlaces(MLIRContext *context,
                                              int64_t threads, int64_t rows) {
  TileDigits tiles(threads, rows);
  return getLayout(
      context,
      {{kWeightTileThreads, 1, 0},
       {tiles.groups, kWeightTileThreads * tiles.perGroup, 0}},
      {{kWeightTileValues, 0, 1}, {tiles.perGroup, kWeightTileThreads, 0}});
}

/// Eight lanes with four columns each have pairs of rows, `first` apart those
/// of the first four and `second` the two halves; the warps of a group are two
/// by two `third` and 32 apart.
static FragmentLayoutAttr getRows(MLIRContext *context, int64_t threads,
                                  int64_t rows, int64_t first, int64_t second,
                                  int64_t third) {
  TileDigits tiles(threads, rows);
  return getLayout(context,
                   {{4, 0, 2},
                    {4, first, 0},
                    {2, second, 0},
                    {2, third, 0},
                    {2, 32, 0},
                    {tiles.groups, kWeightTileRows * tiles.perGroup, 0}},
                   {{2, 0, 1},
                    {2, 1, 0},
                    {2, 0, 8},
                    {4, 0, 16},
                    {tiles.perGroup, kWeightTileRows, 0}});
}

FragmentLayoutAttr mx::mxgpu::getPackedWeights(MLIRContext *context,
                                               int64_t threads, int64_t rows) {
  return getRows(context, threads, rows, 2, 8, 16);
}

FragmentLayoutAttr mx::mxgpu::getPackedOperand(MLIRContext *context,
                                               int64_t threads, int64_t rows) {
  return getRows(context, threads, rows, 8, 2, 4);
}
