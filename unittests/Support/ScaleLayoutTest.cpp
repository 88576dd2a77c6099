//===- ScaleLayoutTest.cpp - Addresses of scales --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the tiled layout with its published shape : stride form. Tests the
// ragged layouts by placing every scale of many partitions.
//===----------------------------------------------------------------------===//

#include "mx/Support/ScaleLayout.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace mx;

namespace {

TEST(ScaleLayout, OffsetsInATile) {
  // CUTLASS's scale factor atom: ((32, 4), 4) : ((16, 4), 1).
  for (int64_t row = 0; row < 128; ++row)
    for (int64_t block = 0; block < 4; ++block) {
      int64_t expected = 0;
      expected += (row % 32) * 16;
      expected += (row / 32) * 4;
      expected += block;
      EXPECT_EQ(scaleOffsetInTile(row, block), expected);
    }
  EXPECT_EQ(scaleOffsetInTile(0, 1), 1);
  EXPECT_EQ(scaleOffsetInTile(32, 0), 4);
  EXPECT_EQ(scaleOffsetInTile(1, 0), 16);
  EXPECT_EQ(scaleOffsetInTile(127, 3), 511);
  EXPECT_EQ(scaleOffsetInTile(128 + 5, 4 + 2), scaleOffsetInTile(5, 2));
}

static_assert(kScaleTileRows == 128 && kScaleTileBlocks == 4 &&
              kScaleTileBytes == 512 && kScaleTileRank == 3);

TEST(ScaleLayout, TilesOfOneRowAreAdjacent) {
  EXPECT_EQ(tiledScaleOffset(0, 4, 16), 512);
  EXPECT_EQ(tiledScaleOffset(128, 0, 16), 4 * 512);
  EXPECT_EQ(tiledScaleOffset(128, 0, 13), 4 * 512); // 13 blocks fill 4 tiles.
}

TEST(ScaleLayout, TileShapeMatchesMemoryOrder) {
  for (int64_t row = 0; row < kScaleTileRows; ++row)
    for (int64_t block = 0; block < kScaleTileBlocks; ++block) {
      auto [inBand, band, column] = kScaleTileShape;
      int64_t place = getTileIndex(row, kScaleRowModes[0]);
      place = place * band + getTileIndex(row, kScaleRowModes[1]);
      place = place * column + getTileIndex(block, kScaleBlockModes[0]);
      EXPECT_EQ(place, scaleOffsetInTile(row, block));
      EXPECT_LT(getTileIndex(row, kScaleRowModes[0]), inBand);
    }
}

TEST(ScaleLayout, EveryScaleHasItsOwnByte) {
  for (auto [rows, blocks] : {std::pair<int64_t, int64_t>{1, 1},
                              {128, 4},
                              {129, 5},
                              {300, 33},
                              {256, 8}}) {
    std::set<int64_t> seen;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t block = 0; block < blocks; ++block) {
        int64_t offset = tiledScaleOffset(row, block, blocks);
        EXPECT_TRUE(seen.insert(offset).second);
        EXPECT_GE(offset, 0);
        EXPECT_LT(offset, scaleTileRowCount(rows) *
                              scaleTileColumnCount(blocks) * kScaleTileBytes);
      }
  }
}

/// Returns the group offsets of a random partition of at most `total` elements.
/// Many groups are empty.
std::vector<int32_t> randomOffsets(std::mt19937 &engine, int32_t total,
                                   size_t groups) {
  std::vector<int32_t> offsets(groups);
  for (int32_t &offset : offsets)
    offset = int32_t(engine() % uint32_t(total + 1));
  std::sort(offsets.begin(), offsets.end());
  for (size_t g = 1; g < groups; ++g)
    if (engine() % 3 == 0)
      offsets[g] = offsets[g - 1];
  if (engine() % 2)
    offsets[groups - 1] = total;
  return offsets;
}

int64_t getStart(const std::vector<int32_t> &offsets, size_t group) {
  return group == 0 ? 0 : offsets[group - 1];
}

TEST(ScaleLayout, RaggedRowsNeverShareATile) {
  std::mt19937 engine(11);
  for (int trial = 0; trial < 2000; ++trial) {
    int32_t total = int32_t(engine() % 1000);
    size_t groups = 1 + engine() % 9;
    std::vector<int32_t> offsets = randomOffsets(engine, total, groups);
    int64_t nextFree = 0;
    for (size_t g = 0; g < groups; ++g) {
      int64_t start = getStart(offsets, g);
      int64_t tileRow = raggedRowsTileRow(start, int64_t(g));
      EXPECT_GE(tileRow, nextFree);
      nextFree = tileRow + scaleTileRowCount(offsets[g] - start);
    }
    EXPECT_LE(nextFree, raggedRowsTileRowCount(total, int64_t(groups)));
  }
  EXPECT_EQ(raggedRowsTileRow(255, 3), 4);
}

TEST(ScaleLayout, RaggedReductionsFitTheCapacity) {
  std::mt19937 engine(12);
  auto getEnd = [](const std::vector<int32_t> &offsets) {
    int64_t end = 0;
    for (size_t g = 0; g < offsets.size(); ++g)
      end += roundUp(offsets[g] - getStart(offsets, g), kRaggedReductionAlign);
    return end;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    int32_t total = int32_t(engine() % 1000);
    size_t groups = 1 + engine() % 9;
    EXPECT_LE(getEnd(randomOffsets(engine, total, groups)),
              raggedReductionCapacity(total, int64_t(groups)));
  }
  // Three groups of one element need the whole capacity.
  EXPECT_EQ(getEnd({1, 2, 3}), raggedReductionCapacity(3, 3));
}

} // namespace
