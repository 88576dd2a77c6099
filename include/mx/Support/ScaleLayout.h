//===- ScaleLayout.h - where each block scale lies --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Addresses and sizes of scale tensors in their physical layouts. A scale
// tensor is logically rows x blocks of one byte each; `tiled` is the layout
// that tcgen05.cp and the block-scaled tcgen05.mma read: tiles of 128 rows and
// 4 blocks in 512 contiguous bytes, tiles of one row of tiles adjacent.
//
// Source: PTX ISA, "tcgen05 Scale Factor" layouts and
// tcgen05.cp.32x128b.warpx4; cuBLAS documentation, "1D Block Scaling Factors
// Layout".
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_SCALELAYOUT_H
#define MX_SUPPORT_SCALELAYOUT_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace mx {

inline constexpr int64_t kScaleTileRows = 128;
inline constexpr int64_t kScaleTileBlocks = 4;
inline constexpr int64_t kScaleTileBytes = 512;
/// Groups of a ragged reduction begin at multiples of this many elements.
inline constexpr int64_t kRaggedReductionAlign = 128;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

//===----------------------------------------------------------------------===//
// Linear: row-major rows x blocks
//===----------------------------------------------------------------------===//

constexpr int64_t linearScaleBytes(int64_t rows, int64_t blocks) {
  return rows * blocks;
}
constexpr int64_t linearScaleOffset(int64_t row, int64_t block,
                                    int64_t blocks) {
  return row * blocks + block;
}

//===----------------------------------------------------------------------===//
// Tiled: tcgen05's 128 x 4 tiles
//===----------------------------------------------------------------------===//

constexpr int64_t scaleTileRowCount(int64_t rows) {
  return ceilDiv(rows, kScaleTileRows);
}
constexpr int64_t scaleTileColumnCount(int64_t blocks) {
  return ceilDiv(blocks, kScaleTileBlocks);
}

/// Byte of (row, block) inside its 512-byte tile.
constexpr int64_t scaleOffsetInTile(int64_t row, int64_t block) {
  return (row % 32) * 16 + (row / 32 % 4) * 4 + block % 4;
}
/// First byte of a tile, given its coordinates in tiles.
constexpr int64_t scaleTileOffset(int64_t tileRow, int64_t tileColumn,
                                  int64_t blocks) {
  return (tileRow * scaleTileColumnCount(blocks) + tileColumn) *
         kScaleTileBytes;
}
constexpr int64_t tiledScaleOffset(int64_t row, int64_t block, int64_t blocks) {
  return scaleTileOffset(row / kScaleTileRows, block / kScaleTileBlocks,
                         blocks) +
         scaleOffsetInTile(row, block);
}
constexpr int64_t tiledScaleBytes(int64_t rows, int64_t blocks) {
  return scaleTileRowCount(rows) * scaleTileColumnCount(blocks) *
         kScaleTileBytes;
}

/// The logical place of a byte of a tiled tensor: the inverse of
/// tiledScaleOffset. Rows and blocks beyond the tensor's are padding.
struct ScaleCoordinate {
  int64_t row;
  int64_t block;
};
constexpr ScaleCoordinate tiledScaleCoordinate(int64_t offset, int64_t blocks) {
  int64_t tile = offset / kScaleTileBytes;
  int64_t byte = offset % kScaleTileBytes;
  int64_t columns = scaleTileColumnCount(blocks);
  return {tile / columns * kScaleTileRows + byte / 4 % 4 * 32 + byte / 16,
          tile % columns * kScaleTileBlocks + byte % 4};
}

//===----------------------------------------------------------------------===//
// Ragged rows: group g owns rows offsets[g-1] .. offsets[g] (offsets[-1] = 0)
//===----------------------------------------------------------------------===//

/// The row of tiles at which group g starts, given offsets[g-1]: rows of
/// different groups never share a tile.
constexpr int64_t raggedRowsTileRow(int64_t groupStart, int64_t group) {
  return groupStart / kScaleTileRows + group;
}
/// Rows of tiles that suffice for any partition of `totalRows` in `groups`.
constexpr int64_t raggedRowsTileRowCount(int64_t totalRows, int64_t groups) {
  return totalRows / kScaleTileRows + groups;
}
constexpr int64_t raggedRowsScaleBytes(int64_t totalRows, int64_t groups,
                                       int64_t blocks) {
  return raggedRowsTileRowCount(totalRows, groups) *
         scaleTileColumnCount(blocks) * kScaleTileBytes;
}
/// Offset of the scale of a row counted from its group's start.
constexpr int64_t raggedRowsScaleOffset(int64_t groupStart, int64_t group,
                                        int64_t rowInGroup, int64_t block,
                                        int64_t blocks) {
  return raggedRowsTileRow(groupStart, group) * scaleTileColumnCount(blocks) *
             kScaleTileBytes +
         tiledScaleOffset(rowInGroup, block, blocks);
}

//===----------------------------------------------------------------------===//
// Ragged reduction: group g owns elements offsets[g-1] .. offsets[g] of K
//===----------------------------------------------------------------------===//

/// Physical extent along K, in elements, that suffices for any partition.
constexpr int64_t raggedReductionCapacity(int64_t total, int64_t groups) {
  return total + (kRaggedReductionAlign - 1) * groups;
}
/// starts[g] = p[g], the sum of the sizes of the groups before g, each rounded
/// up to 128; starts[groups] is the end of the last group's padding. `starts`
/// has groups + 1 elements.
void raggedReductionStarts(const int32_t *offsets, size_t groups,
                           int64_t *starts);
/// The scale tensor of a ragged reduction is one tiled tensor of this many
/// blocks; block 0 of group g is block starts[g] / blockSize of it.
constexpr int64_t raggedReductionBlocks(int64_t total, int64_t groups,
                                        int64_t blockSize) {
  return ceilDiv(raggedReductionCapacity(total, groups), blockSize);
}

/// Start of group g, that is offsets[g-1], or 0 for the first.
inline int64_t groupStart(const int32_t *offsets, size_t group) {
  return group == 0 ? 0 : offsets[group - 1];
}

/// Empty if the offsets never decrease, begin at 0 or above and end at `total`
/// or below; else the first rule they break, with values.
std::string checkGroupOffsets(const int32_t *offsets, size_t groups,
                              int64_t total);

} // namespace mx

#endif // MX_SUPPORT_SCALELAYOUT_H
