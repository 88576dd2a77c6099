//===- PackedWeightsTest.cpp - Who holds what of packed weights -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layouts by which threads read packed weights, against the formula of
// their places in memory and against wgmma's fragments of A.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mx/Support/WeightLayout.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

using Place = std::pair<int64_t, int64_t>;

/// Where a number's modes lead, one by one.
Place add(Place place, ArrayRef<FragmentMode> modes, int64_t number) {
  for (const FragmentMode &mode : modes) {
    place.first += number % mode.size * mode.rows;
    place.second += number % mode.size * mode.columns;
    number /= mode.size;
  }
  return place;
}

Place getPlace(FragmentLayoutAttr layout, int64_t thread, int64_t value) {
  return add(add({0, 0}, layout.getThreads(), thread), layout.getValues(),
             value);
}

struct PackedWeights : testing::Test {
  PackedWeights() { context.loadDialect<MXGPUDialect>(); }

  MLIRContext context;
};

/// A register read at a place of the buffer is the element that memory has
/// there, whatever threads share a tile and however many.
TEST_F(PackedWeights, RegistersAreWhatMemoryHas) {
  for (auto [threads, rows, columns] : {std::tuple(128, 64, 64),
                                        {128, 128, 64},
                                        {128, 256, 64},
                                        {256, 128, 64},
                                        {256, 256, 64},
                                        {128, 64, 128},
                                        {256, 256, 128}}) {
    SCOPED_TRACE(testing::Message()
                 << threads << " threads, " << rows << " x " << columns);
    FragmentLayoutAttr weights =
        getPackedWeights(&context, threads, rows, columns);
    FragmentLayoutAttr places = getPackedPlaces(weights);
    int64_t values = rows * columns / threads;
    ASSERT_EQ(places.getNumThreads(), threads);
    ASSERT_EQ(weights.getNumThreads(), threads);
    ASSERT_EQ(places.getNumValues(), values);
    ASSERT_EQ(weights.getNumValues(), values);
    int64_t tilesInRow = columns / kWeightTileColumns;
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < values; ++value) {
        Place place = getPlace(places, thread, value);
        WeightCoordinate in =
            getWeightCoordinate(place.first % kWeightTileThreads, place.second);
        int64_t tile = place.first / kWeightTileThreads;
        Place expected(tile / tilesInRow * kWeightTileRows + in.row,
                       tile % tilesInRow * kWeightTileColumns + in.column);
        ASSERT_EQ(getPlace(weights, thread, value), expected)
            << "thread " << thread << ", value " << value;
      }
  }
}

/// PTX ISA, wgmma.mma_async, Register Fragments: the fragment A, of which a
/// thread's two rows are 8 apart.
TEST_F(PackedWeights, AreFragmentsOfWgmma) {
  auto mma = WgmmaAttr::get(&context, 64, 64, 16, 1);
  FragmentModes modes = mma.getOperandModes(
      MmaOperand::A, BFloat16Type::get(&context), kWeightTileColumns);
  auto a = FragmentLayoutAttr::get(&context, modes.threads, modes.values);
  ASSERT_EQ(a.getNumValues(), kWeightTileValues);
  for (int64_t thread = 0; thread < kWeightTileThreads; ++thread)
    for (int64_t value = 0; value < kWeightTileValues; ++value) {
      WeightCoordinate place = getWeightCoordinate(thread, value);
      int64_t inWarp = place.row % 16;
      int64_t row = place.row - inWarp + inWarp / 2 + 8 * (inWarp % 2);
      ASSERT_EQ(getPlace(a, thread, value), Place(row, place.column))
          << "thread " << thread << ", value " << value;
    }
}

/// However their modes are written.
TEST_F(PackedWeights, AreTold) {
  auto get = [&](ArrayRef<FragmentMode> threads,
                 ArrayRef<FragmentMode> values) {
    return FragmentLayoutAttr::get(&context, threads, values);
  };
  EXPECT_TRUE(isOfPackedWeights(getPackedWeights(&context, 256, 256, 128)));
  EXPECT_TRUE(
      isOfPackedWeights(get({{4, 0, 2}, {8, 2, 0}, {4, 16, 0}},
                            {{2, 0, 1}, {2, 1, 0}, {2, 0, 8}, {8, 0, 16}})));
  EXPECT_FALSE(
      isOfPackedWeights(get({{4, 0, 2}, {8, 1, 0}, {4, 16, 0}},
                            {{2, 0, 1}, {2, 8, 0}, {2, 0, 8}, {8, 0, 16}})));
  EXPECT_FALSE(isOfPackedWeights(getPackedOperand(&context, 128, 64, 64)));
}

/// In each 32 rows modes 2, 4, 4 become 2, 4, 4 with the last two exchanged.
TEST_F(PackedWeights, OperandHasPermutedRows) {
  FragmentLayoutAttr weights = getPackedWeights(&context, 128, 128, 64);
  FragmentLayoutAttr operand = getPackedOperand(&context, 128, 128, 64);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t value = 0; value < weights.getNumValues(); ++value) {
      auto [row, column] = getPlace(weights, thread, value);
      int64_t permuted =
          row / 32 * 32 + row % 2 + 8 * (row / 2 % 4) + 2 * (row / 8 % 4);
      ASSERT_EQ(getPlace(operand, thread, value), Place(permuted, column));
    }
}

} // namespace
