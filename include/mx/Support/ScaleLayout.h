//===- ScaleLayout.h - Layouts of block scales ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps a matrix of 1-byte scales (rows x blocks) to memory. The layout `linear`
// is a row-major matrix. The layout `sf_128x4`, as read by tcgen05.cp and
// block-scaled tcgen05.mma, stores tiles of 128 rows and 4 blocks in row-major
// order. Each tile is 512 contiguous bytes. Shapes and addresses in kernels and
// on the CPU are computed from the tables of modes below. A test compares the
// tables with mx_compiler/_ops/scale_tiles.py. Sources: PTX ISA, "tcgen05 Scale
// Factor" layouts and tcgen05.cp.32x128b.warpx4; cuBLAS, "1D Block Scaling
// Factors Layout".
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_SCALELAYOUT_H
#define MX_SUPPORT_SCALELAYOUT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace mx {

//===----------------------------------------------------------------------===//
// sf_128x4: tiles
//===----------------------------------------------------------------------===//

/// Mode of a tile. The index is coordinate / divisor % size. The coordinate is
/// a row or block number, and the stride is in bytes.
struct ScaleTileMode {
  int64_t divisor, size, stride;
};

/// Modes of a tile from the outermost to the innermost, row modes first. In
/// CuTe: ((32, 4), 4) : ((16, 4), 1).
inline constexpr ScaleTileMode kScaleRowModes[] = {{1, 32, 16}, {32, 4, 4}};
inline constexpr ScaleTileMode kScaleBlockModes[] = {{1, 4, 1}};

/// Rank of a tile tensor minus the rank of the matrix.
inline constexpr int64_t kScaleTileRank =
    std::size(kScaleRowModes) + std::size(kScaleBlockModes);

template <size_t numModes>
constexpr int64_t countIndices(const ScaleTileMode (&modes)[numModes]) {
  int64_t count = 1;
  for (const ScaleTileMode &mode : modes)
    count *= mode.size;
  return count;
}

inline constexpr int64_t kScaleTileRows = countIndices(kScaleRowModes);
inline constexpr int64_t kScaleTileBlocks = countIndices(kScaleBlockModes);
inline constexpr int64_t kScaleTileBytes = kScaleTileRows * kScaleTileBlocks;
/// Shape of a tile in memory.
inline constexpr std::array<int64_t, kScaleTileRank> kScaleTileShape = {
    kScaleRowModes[0].size, kScaleRowModes[1].size, kScaleBlockModes[0].size};

template <typename Int>
constexpr Int getTileIndex(Int coordinate, const ScaleTileMode &mode) {
  if (mode.divisor == 1)
    return coordinate % mode.size;
  return coordinate / mode.divisor % mode.size;
}

/// Returns the byte offset of a row or block within its tile.
template <typename Int, size_t numModes>
constexpr Int getTileOffset(Int coordinate,
                            const ScaleTileMode (&modes)[numModes]) {
  Int sum = getTileIndex(coordinate, modes[0]) * modes[0].stride;
  for (size_t i = 1; i < numModes; ++i)
    sum = sum + getTileIndex(coordinate, modes[i]) * modes[i].stride;
  return sum;
}

/// Returns the byte offset of (row, block) within its tile.
template <typename Int>
constexpr Int scaleOffsetInTile(Int row, Int block) {
  Int ofRow = getTileOffset(row, kScaleRowModes);
  return ofRow + getTileOffset(block, kScaleBlockModes);
}

//===----------------------------------------------------------------------===//
// Sizes and addresses
//===----------------------------------------------------------------------===//

/// Alignment of expert groups along K, in elements.
inline constexpr int64_t kRaggedReductionAlign = 128;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

constexpr int64_t scaleTileRowCount(int64_t rows) {
  return ceilDiv(rows, kScaleTileRows);
}
constexpr int64_t scaleTileColumnCount(int64_t blocks) {
  return ceilDiv(blocks, kScaleTileBlocks);
}

constexpr int64_t tiledScaleOffset(int64_t row, int64_t block, int64_t blocks) {
  int64_t tile = row / kScaleTileRows * scaleTileColumnCount(blocks) +
                 block / kScaleTileBlocks;
  return tile * kScaleTileBytes + scaleOffsetInTile(row, block);
}

//===----------------------------------------------------------------------===//
// Ragged rows: group g owns rows offsets[g-1] .. offsets[g] (offsets[-1] = 0)
//===----------------------------------------------------------------------===//

/// Returns the first tile row of an expert group that starts at row
/// `expertStart`. Different expert groups never share a tile.
template <typename Int>
constexpr Int raggedRowsTileRow(Int expertStart, Int group) {
  return expertStart / kScaleTileRows + group;
}
/// Returns a number of tile rows that suffices for any partition of `totalRows`
/// into `groups` expert groups.
constexpr int64_t raggedRowsTileRowCount(int64_t totalRows, int64_t groups) {
  return totalRows / kScaleTileRows + groups;
}

//===----------------------------------------------------------------------===//
// Ragged reduction: group g owns elements offsets[g-1] .. offsets[g] of K
//===----------------------------------------------------------------------===//

/// Returns a physical extent along K, in elements, that suffices for any
/// partition of `total` elements into `groups` expert groups.
constexpr int64_t raggedReductionCapacity(int64_t total, int64_t groups) {
  return total + (kRaggedReductionAlign - 1) * groups;
}

} // namespace mx

#endif // MX_SUPPORT_SCALELAYOUT_H
