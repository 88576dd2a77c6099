//===- PackedWeights.cpp - Who holds what of packed weights ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static int64_t getThreadBytes(Type element) {
  return kWeightTileValues * getStoredBits(element) / 8;
}

/// Elements narrower than a byte come as bytes.
static Type getLoadedType(Type element) {
  return element.getIntOrFloatBitWidth() < 8
             ? IntegerType::get(element.getContext(), 8)
             : element;
}

int64_t mx::mxgpu::getPackedLines(Type element) {
  return kWeightTileThreads * getThreadBytes(element) / kPackedLineBytes;
}

BufferType mx::mxgpu::getPackedBuffer(Type element, int64_t rows,
                                      int64_t columns) {
  int64_t tiles = rows / kWeightTileRows * (columns / kWeightTileColumns);
  return BufferType::get(element.getContext(), Space::Smem,
                         {tiles * kWeightTileThreads, getThreadBytes(element)},
                         getLoadedType(element), mxgpu::Swizzle::None);
}

TensorMapType mx::mxgpu::getPackedMap(Type element, int64_t rows,
                                      int64_t columns) {
  return TensorMapType::get(
      element.getContext(),
      {rows / kWeightTileRows,
       columns / kWeightTileColumns * getPackedLines(element),
       kPackedLineBytes},
      getLoadedType(element), mxgpu::Swizzle::None);
}

namespace {
/// How rows of tiles are dealt out to warpgroups, one after the other.
struct TileModes {
  TileModes(int64_t threads, int64_t rows, int64_t columns)
      : groups(threads / kWeightTileThreads),
        perExpert(rows / kWeightTileRows / groups),
        inRow(columns / kWeightTileColumns) {}

  int64_t groups;    ///< warpgroups
  int64_t perExpert; ///< rows of tiles that one has
  int64_t inRow;     ///< tiles of such a row
};
} // namespace

/// Where a bit of a row, or of a column, of the matrix lies: in which row of
/// the buffer and in which of its values. From whole tiles on, all bits
/// together.
static FragmentMode getPlace(const FragmentMode &mode, int64_t tilesInRow) {
  if (mode.rows >= kWeightTileRows)
    return {mode.size,
            mode.rows / kWeightTileRows * tilesInRow * kWeightTileThreads, 0};
  if (mode.columns >= kWeightTileColumns)
    return {mode.size, mode.columns / kWeightTileColumns * kWeightTileThreads,
            0};
  // Of a pair of rows, or of columns, both are the same thread's.
  if (mode.rows)
    return mode.rows == 1 ? FragmentMode{2, 0, 2}
                          : FragmentMode{2, mode.rows * 2, 0};
  if (mode.columns >= 8)
    return {2, 0, mode.columns / 2};
  return mode.columns == 1 ? FragmentMode{2, 0, 1}
                           : FragmentMode{2, mode.columns / 2, 0};
}

static SmallVector<FragmentMode> getPlaces(ArrayRef<FragmentMode> modes,
                                           int64_t tilesInRow) {
  SmallVector<FragmentMode> places;
  for (FragmentMode mode : modes) {
    // Threads that differ in nothing hold the same.
    if (!mode.rows && !mode.columns)
      places.push_back(mode);
    else
      while (mode.size > 1) {
        FragmentMode place = getPlace(mode, tilesInRow);
        appendMode(places, place);
        mode = {mode.size / place.size, mode.rows * place.size,
                mode.columns * place.size};
      }
  }
  return places;
}

FragmentLayoutAttr mx::mxgpu::getPackedPlaces(FragmentLayoutAttr layout) {
  int64_t tilesInRow = ceilDiv(layout.getShape().second, kWeightTileColumns);
  return FragmentLayoutAttr::getWithoutUnits(
      layout.getContext(), getPlaces(layout.getThreads(), tilesInRow),
      getPlaces(layout.getValues(), tilesInRow));
}

/// Eight lanes with four columns each have pairs of rows, `first` apart those
/// of the first four and `second` the two halves; the warps of a group are two
/// by two `third` and 32 apart.
static FragmentLayoutAttr getRows(MLIRContext *context, TileModes tiles,
                                  int64_t first, int64_t second,
                                  int64_t third) {
  return FragmentLayoutAttr::getWithoutUnits(
      context,
      {{4, 0, 2},
       {4, first, 0},
       {2, second, 0},
       {2, third, 0},
       {2, 32, 0},
       {tiles.groups, kWeightTileRows, 0}},
      {{2, 0, 1},
       {2, 1, 0},
       {2, 0, 8},
       {4, 0, 16},
       {tiles.inRow, 0, kWeightTileColumns},
       {tiles.perExpert, kWeightTileRows * tiles.groups, 0}});
}

FragmentLayoutAttr mx::mxgpu::getPackedWeights(MLIRContext *context,
                                               int64_t threads, int64_t rows,
                                               int64_t columns) {
  return getRows(context, {threads, rows, columns}, 2, 8, 16);
}

FragmentLayoutAttr mx::mxgpu::getPackedOperand(MLIRContext *context,
                                               int64_t threads, int64_t rows,
                                               int64_t columns) {
  return getRows(context, {threads, rows, columns}, 8, 2, 4);
}
