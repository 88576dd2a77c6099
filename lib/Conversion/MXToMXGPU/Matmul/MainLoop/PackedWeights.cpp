//===- PackedWeights.cpp - Register layouts of packed weights -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static int64_t getThreadBytes(Type element) {
  return kWeightTileValues * getStoredBits(element) / 8;
}

/// Returns the element type of loads: i8 for elements narrower than a byte.
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
/// Round-robin distribution of rows of packed tiles over warpgroups.
struct TileModes {
  TileModes(int64_t threads, int64_t rows, int64_t columns)
      : groups(threads / kWeightTileThreads),
        perExpert(rows / kWeightTileRows / groups),
        inRow(columns / kWeightTileColumns) {}

  int64_t groups;    ///< warpgroups
  int64_t perExpert; ///< tile rows of a warpgroup
  int64_t inRow;     ///< tiles of a row
};
} // namespace

/// Maps a matrix mode to rows and values of the buffer. A mode is either one
/// bit of a row or column index within a tile, or all bits of a tile index.
static FragmentMode getPlace(const FragmentMode &mode, int64_t tilesInRow) {
  if (mode.rows >= kWeightTileRows)
    return {mode.size,
            mode.rows / kWeightTileRows * tilesInRow * kWeightTileThreads, 0};
  if (mode.columns >= kWeightTileColumns)
    return {mode.size, mode.columns / kWeightTileColumns * kWeightTileThreads,
            0};
  // A thread owns both rows of a row pair and both columns of a column pair.
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
    // Redundant threads hold the same elements.
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

/// Returns a layout in which four adjacent lanes own the columns of a row pair
/// and eight lane quads own different row pairs. The row stride is `first`
/// within each half of the quads and `second` between the halves. The strides
/// between the warps of a warpgroup are `third` and 32.
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
