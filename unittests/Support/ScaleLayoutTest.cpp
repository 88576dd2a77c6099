//===- ScaleLayoutTest.cpp - addresses of scales --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tiled layout against its published shape : stride form, and the ragged
// layouts by placing every scale of many partitions.
//
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

TEST(ScaleLayout, TilesOfOneRowAreAdjacent) {
  EXPECT_EQ(tiledScaleOffset(0, 4, 16), 512);
  EXPECT_EQ(tiledScaleOffset(128, 0, 16), 4 * 512);
  EXPECT_EQ(tiledScaleOffset(128, 0, 13), 4 * 512); // 13 blocks fill 4 tiles.
  EXPECT_EQ(tiledScaleBytes(129, 13), 2 * 4 * 512);
  EXPECT_EQ(tiledScaleBytes(0, 13), 0);
  EXPECT_EQ(tiledScaleBytes(128, 4), 512);
  EXPECT_EQ(linearScaleBytes(129, 13), 129 * 13);
  EXPECT_EQ(linearScaleOffset(3, 2, 13), 41);
}

TEST(ScaleLayout, EveryScaleHasItsOwnByteAndComesBack) {
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
        EXPECT_LT(offset, tiledScaleBytes(rows, blocks));
        ScaleCoordinate back = tiledScaleCoordinate(offset, blocks);
        EXPECT_EQ(back.row, row);
        EXPECT_EQ(back.block, block);
      }
  }
}

/// Group offsets of a random partition of at most `total`, many groups empty.
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

TEST(ScaleLayout, RaggedRowsNeverShareATile) {
  std::mt19937 engine(11);
  for (int trial = 0; trial < 2000; ++trial) {
    int32_t total = int32_t(engine() % 1000);
    size_t groups = 1 + engine() % 9;
    std::vector<int32_t> offsets = randomOffsets(engine, total, groups);
    ASSERT_EQ(checkGroupOffsets(offsets.data(), groups, total), "");
    int64_t blocks = 1 + int64_t(engine() % 9);
    int64_t nextFree = 0;
    for (size_t g = 0; g < groups; ++g) {
      int64_t start = groupStart(offsets.data(), g);
      int64_t tileRow = raggedRowsTileRow(start, int64_t(g));
      EXPECT_GE(tileRow, nextFree);
      nextFree = tileRow + scaleTileRowCount(offsets[g] - start);
      for (int64_t row : {int64_t(0), int64_t(127), int64_t(128)}) {
        if (row >= offsets[g] - start)
          continue;
        EXPECT_EQ(
            raggedRowsScaleOffset(start, int64_t(g), row, blocks - 1, blocks),
            tiledScaleOffset(tileRow * 128 + row, blocks - 1, blocks));
      }
    }
    EXPECT_LE(nextFree, raggedRowsTileRowCount(total, int64_t(groups)));
    EXPECT_EQ(raggedRowsScaleBytes(total, int64_t(groups), blocks),
              raggedRowsTileRowCount(total, int64_t(groups)) *
                  ((blocks + 3) / 4) * 512);
  }
  EXPECT_EQ(raggedRowsTileRow(255, 3), 4);
}

TEST(ScaleLayout, RaggedReductionsStartAtTilesAndFitTheCapacity) {
  std::mt19937 engine(12);
  for (int trial = 0; trial < 2000; ++trial) {
    int32_t total = int32_t(engine() % 1000);
    size_t groups = 1 + engine() % 9;
    std::vector<int32_t> offsets = randomOffsets(engine, total, groups);
    std::vector<int64_t> starts(groups + 1, -1);
    raggedReductionStarts(offsets.data(), groups, starts.data());
    EXPECT_EQ(starts[0], 0);
    for (size_t g = 0; g < groups; ++g) {
      int64_t size = offsets[g] - groupStart(offsets.data(), g);
      EXPECT_EQ(starts[g] % 128, 0);
      EXPECT_GE(starts[g + 1], starts[g] + size);
      EXPECT_LT(starts[g + 1], starts[g] + size + 128);
      EXPECT_EQ(size == 0, starts[g + 1] == starts[g]);
    }
    EXPECT_LE(starts[groups], raggedReductionCapacity(total, int64_t(groups)));
  }
  // The capacity is reached: 3 groups of one element.
  int32_t ones[] = {1, 2, 3};
  int64_t starts[4];
  raggedReductionStarts(ones, 3, starts);
  EXPECT_EQ(starts[3], raggedReductionCapacity(3, 3));
  EXPECT_EQ(raggedReductionBlocks(3, 3, 32), 12);
  EXPECT_EQ(raggedReductionBlocks(3, 3, 16), 24);
}

TEST(ScaleLayout, RefusesBadOffsets) {
  int32_t decreasing[] = {4, 3}, negative[] = {-1, 3}, beyond[] = {4, 9};
  EXPECT_EQ(checkGroupOffsets(decreasing, 2, 8),
            "expected group offsets that do not decrease, found 3 after 4 at "
            "group 1");
  EXPECT_EQ(checkGroupOffsets(negative, 2, 8),
            "expected group offsets that do not decrease, found -1 after 0 at "
            "group 0");
  EXPECT_EQ(checkGroupOffsets(beyond, 2, 8),
            "expected group offsets of at most 8, found 9 at group 1");
  EXPECT_EQ(checkGroupOffsets(nullptr, 0, 8), "");
}

} // namespace
