//===- PackedWeightsTest.cpp - Register layouts of packed weights ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares the layouts in which threads read packed weights with the formula
// for memory addresses and with the A fragments of wgmma.
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mx/Support/OperandOrders.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

using Place = std::pair<int64_t, int64_t>;

/// Adds the offsets of `number`, split into `modes`, to `place`.
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

  /// Returns the row and the column of an element in a stored tile.
  Place getElement(int64_t thread, int64_t value) {
    SmallVector<int64_t> place =
        Fragment64x64Attr::get(&context).getTiles().map.compose(
            {thread, value});
    return {place[0], place[1]};
  }

  MLIRContext context;
};

/// Each register contains the element given by the address formula, for every
/// number of threads that share a tile.
TEST_F(PackedWeights, RegistersMatchMemory) {
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
        auto [row, column] =
            getElement(place.first % kWeightTileThreads, place.second);
        int64_t tile = place.first / kWeightTileThreads;
        Place expected(tile / tilesInRow * kWeightTileRows + row,
                       tile % tilesInRow * kWeightTileColumns + column);
        ASSERT_EQ(getPlace(weights, thread, value), expected)
            << "thread " << thread << ", value " << value;
      }
  }
}

/// PTX ISA, wgmma.mma_async, Register Fragments, A fragment. The two rows of a
/// thread are 8 rows apart.
TEST_F(PackedWeights, MatchWgmmaFragments) {
  auto mma = WgmmaAttr::get(&context, 64, 64, 16, 1);
  FragmentModes modes = mma.getOperandModes(
      MmaOperand::A, BFloat16Type::get(&context), kWeightTileColumns);
  auto a = FragmentLayoutAttr::get(&context, modes.threads, modes.values);
  ASSERT_EQ(a.getNumValues(), kWeightTileValues);
  for (int64_t thread = 0; thread < kWeightTileThreads; ++thread)
    for (int64_t value = 0; value < kWeightTileValues; ++value) {
      auto [place, column] = getElement(thread, value);
      int64_t inWarp = place % 16;
      int64_t row = place - inWarp + inWarp / 2 + 8 * (inWarp % 2);
      ASSERT_EQ(getPlace(a, thread, value), Place(row, column))
          << "thread " << thread << ", value " << value;
    }
}

/// Each element of an operand with full tiles is stored exactly once.
TEST_F(PackedWeights, OrdersArePermutations) {
  for (OperandOrderAttrInterface order :
       std::initializer_list<OperandOrderAttrInterface>{
           Fragment64x64Attr::get(&context), KOrderAttr::get(&context, 32),
           KOrderAttr::get(&context, 64)}) {
    std::set<SmallVector<int64_t>> elements;
    SmallVector<int64_t> shape = order.getStoredShape({128, 128});
    SmallVector<int64_t> place(shape.size());
    for (int64_t number = 0; number < 128 * 128; ++number) {
      int64_t rest = number;
      for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
        place[dim] = rest % shape[dim];
      SmallVector<int64_t> element = order.getMap().compose(place);
      EXPECT_TRUE(element[0] < 128 && element[1] < 128);
      elements.insert(element);
    }
    EXPECT_EQ(elements.size(), 128u * 128u);
  }
}

/// The row modes of 32 rows are 2, 4 and 4. The permuted operand exchanges the
/// last two modes.
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
