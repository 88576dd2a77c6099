//===- FragmentLayoutTest.cpp - Elements held by each thread --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares layouts with the formulas of the PTX ISA, and compares each query on
// a layout with the elements of all threads.
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mx::mxgpu;

namespace {

struct Place {
  int64_t row, column;

  bool operator==(const Place &other) const {
    return row == other.row && column == other.column;
  }
  bool operator<(const Place &other) const {
    return std::pair(row, column) < std::pair(other.row, other.column);
  }
};

/// Adds the offsets of `number`, split into `modes`, to `place`.
Place add(Place place, ArrayRef<FragmentMode> modes, int64_t number) {
  for (const FragmentMode &mode : modes) {
    place.row += number % mode.size * mode.rows;
    place.column += number % mode.size * mode.columns;
    number /= mode.size;
  }
  return place;
}

Place getPlace(FragmentLayoutAttr layout, int64_t thread, int64_t value) {
  return add(add({0, 0}, layout.getThreads(), thread), layout.getValues(),
             value);
}

struct FragmentLayout : testing::Test {
  FragmentLayout() { context.loadDialect<MXGPUDialect>(); }

  FragmentLayoutAttr get(ArrayRef<FragmentMode> threads,
                         ArrayRef<FragmentMode> values) {
    return FragmentLayoutAttr::getChecked(
        [&] { return emitError(UnknownLoc::get(&context)); }, &context, threads,
        values);
  }
  FragmentLayoutAttr get(const FragmentModes &modes) {
    return get(modes.threads, modes.values);
  }
  FragmentLayoutAttr getWgmma(int64_t columns) {
    return get(WgmmaAttr::get(&context, 64, columns, 16, 1)
                   .getAccumulatorModes(columns));
  }

  MLIRContext context;
};

/// Compares every query on a layout with the elements of all threads.
void checkAnswers(FragmentLayoutAttr layout) {
  auto [rows, columns] = layout.getShape();
  SmallVector<int64_t> rowOffsets = layout.getRowOffsets();
  SmallVector<int64_t> runColumns;
  for (const FragmentRun &run : layout.getRuns())
    for (int64_t i = 0; i < run.size; ++i)
      runColumns.push_back(run.column + i);
  ASSERT_EQ(static_cast<int64_t>(rowOffsets.size() * runColumns.size()),
            layout.getNumValues());
  EXPECT_TRUE(llvm::is_sorted(rowOffsets));
  EXPECT_TRUE(llvm::is_sorted(runColumns));
  std::set<Place> seen;
  for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread) {
    Place first = getPlace(layout, thread, 0);
    for (int64_t row : rowOffsets)
      for (int64_t column : runColumns) {
        Place place = getPlace(layout, thread, layout.getRegister(row, column));
        ASSERT_EQ(place.row, first.row + row) << "thread " << thread;
        ASSERT_EQ(place.column, first.column + column) << "thread " << thread;
        ASSERT_LT(place.row, rows);
        ASSERT_LT(place.column, columns);
        seen.insert(place);
      }
  }
  // Each element belongs to exactly one thread.
  EXPECT_EQ(static_cast<int64_t>(seen.size()), rows * columns);
}

/// The layout is the D fragment of wgmma (PTX ISA, wgmma.mma_async, Register
/// Fragments).
TEST_F(FragmentLayout, WgmmaAccumulators) {
  for (int64_t n = 8; n <= 256; n += 8) {
    SCOPED_TRACE(n);
    FragmentLayoutAttr layout = getWgmma(n);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout.getNumThreads(), 128);
    EXPECT_EQ(layout.getNumValues(), n / 2);
    EXPECT_EQ(layout.getShape(), std::pair(int64_t(64), n));
    EXPECT_EQ(layout.getWarpRows(), 16);
    for (int64_t t = 0; t < 128; ++t)
      for (int64_t r = 0; r < n / 2; ++r) {
        Place expected = {16 * (t / 32) + t % 32 / 4 + 8 * (r / 2 % 2),
                          8 * (r / 4) + 2 * (t % 4) + r % 2};
        ASSERT_EQ(getPlace(layout, t, r), expected) << t << ", " << r;
      }
    checkAnswers(layout);
  }
  EXPECT_EQ(getWgmma(32).getRowOffsets(), (SmallVector<int64_t>{0, 8}));
  EXPECT_EQ(getWgmma(32).getRuns().size(), 4u);
}

/// The layout is that of tcgen05.ld with shape .32x32b (PTX ISA).
TEST_F(FragmentLayout, RowPerThread) {
  for (int64_t columns : {1, 8, 24, 256}) {
    SCOPED_TRACE(columns);
    auto layout = FragmentLayoutAttr::getRowPerThread(&context, columns);
    ASSERT_TRUE(layout);
    for (int64_t t = 0; t < 128; ++t)
      for (int64_t r = 0; r < columns; ++r)
        ASSERT_EQ(getPlace(layout, t, r), (Place{t, r}));
    EXPECT_EQ(layout.getWarpRows(), 32);
    EXPECT_EQ(layout.getRowOffsets(), SmallVector<int64_t>{0});
    ASSERT_EQ(layout.getRuns().size(), 1u);
    EXPECT_EQ(layout.getRuns()[0].column, 0);
    EXPECT_EQ(layout.getRuns()[0].size, columns);
    checkAnswers(layout);
  }
}

TEST_F(FragmentLayout, OtherInstructions) {
  // The accumulators of mma.m16n8 in a warp.
  FragmentLayoutAttr warp = get({{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 8, 0}});
  checkAnswers(warp);
  EXPECT_EQ(warp.getWarpRows(), 16);
  // The columns are ordered differently from the registers.
  checkAnswers(get({{32, 1, 0}}, {{2, 0, 4}, {4, 0, 1}, {2, 32, 0}}));
  // Several lanes share each row of the warp.
  FragmentLayoutAttr shared =
      get({{32, 0, 4}, {4, 8, 0}}, {{4, 0, 1}, {8, 1, 0}});
  checkAnswers(shared);
  EXPECT_EQ(shared.getWarpRows(), 8);
  // A single thread holds a single element.
  FragmentLayoutAttr one = get({}, {});
  ASSERT_TRUE(one);
  checkAnswers(one);
}

TEST_F(FragmentLayout, RowsOfWarps) {
  // Three warps hold 32 rows each.
  EXPECT_EQ(get({{96, 1, 0}}, {{4, 0, 1}}).getWarpRows(), 32);
  // The number of threads is not a multiple of 32.
  EXPECT_EQ(get({{16, 1, 0}}, {{4, 0, 1}}).getWarpRows(), 0);
  EXPECT_EQ(get({{48, 1, 0}}, {{4, 0, 1}}).getWarpRows(), 0);
  // The rows of a warp are not contiguous.
  EXPECT_EQ(get({{128, 1, 0}}, {{2, 128, 0}}).getWarpRows(), 0);
  EXPECT_EQ(get({{4, 1, 0}, {32, 0, 1}}, {{16, 4, 0}}).getWarpRows(), 0);
  // Warps share rows. The first layout contains fewer rows than warps, the
  // second the same number.
  EXPECT_EQ(get({{128, 0, 1}}, {{2, 1, 0}}).getWarpRows(), 0);
  EXPECT_EQ(get({{128, 0, 1}}, {{4, 1, 0}}).getWarpRows(), 0);
  // The warps are ordered differently from their rows.
  EXPECT_EQ(
      get({{32, 1, 0}, {2, 64, 0}, {2, 32, 0}}, {{4, 0, 1}}).getWarpRows(), 0);
  // A mode ends within the lanes of a warp.
  EXPECT_EQ(get({{3, 0, 1}, {32, 1, 0}}, {}).getWarpRows(), 0);
}

TEST_F(FragmentLayout, PartOfTheColumns) {
  for (int64_t columns = 8; columns <= 256; columns += 8)
    EXPECT_EQ(getWgmma(256).withColumns(columns), getWgmma(columns)) << columns;
  // Four threads share the 8 columns of an instruction's row, so only multiples
  // of 8 columns can be selected.
  for (int64_t columns : {1, 2, 4, 12})
    EXPECT_FALSE(getWgmma(256).withColumns(columns)) << columns;
  for (int64_t columns : {2, 32, 100, 256}) {
    auto rows = FragmentLayoutAttr::getRowPerThread(&context, 256);
    EXPECT_EQ(rows.withColumns(columns),
              FragmentLayoutAttr::getRowPerThread(&context, columns));
  }
  // The columns are split over two modes.
  FragmentLayoutAttr split = get({{32, 1, 0}}, {{4, 0, 1}, {4, 0, 4}});
  EXPECT_EQ(split.withColumns(8), get({{32, 1, 0}}, {{4, 0, 1}, {2, 0, 4}}));
  EXPECT_EQ(split.withColumns(2), get({{32, 1, 0}}, {{2, 0, 1}}));
  EXPECT_FALSE(split.withColumns(3));
}

/// PTX ISA, wgmma.mma_async, Register Fragments. The formulas for register a_i
/// or d_i of a thread apply to each 64-row block of each warpgroup.
TEST_F(FragmentLayout, WgmmaBlocks) {
  constexpr int64_t kM = 256, kGroups = 2, kBlocks = 2;
  WgmmaAttr half = WgmmaAttr::get(&context, kM, 64, 16, kGroups);
  WgmmaAttr byte = WgmmaAttr::get(&context, kM, 64, 32, kGroups);
  auto rowOf = [&](int64_t thread, int64_t block, bool below) {
    return thread / 128 * (kM / kGroups) + block * 64 + thread / 32 % 4 * 16 +
           thread % 32 / 4 + 8 * below;
  };
  FragmentLayoutAttr sums = get(half.getAccumulatorModes(64));
  FragmentLayoutAttr halves =
      get(half.getOperandModes(MmaOperand::A, BFloat16Type::get(&context), 48));
  FragmentLayoutAttr bytes = get(
      byte.getOperandModes(MmaOperand::A, Float8E4M3FNType::get(&context), 96));
  checkAnswers(sums);
  checkAnswers(halves);
  checkAnswers(bytes);
  for (int64_t thread = 0; thread < 128 * kGroups; ++thread)
    for (int64_t block = 0; block < kBlocks; ++block) {
      for (int64_t i = 0; i < 32; ++i) {
        int64_t value = i % 4 + 4 * (block + kBlocks * (i / 4));
        EXPECT_EQ(getPlace(sums, thread, value),
                  (Place{rowOf(thread, block, i & 2),
                         i / 4 * 8 + thread % 4 * 2 + i % 2}));
      }
      for (int64_t step = 0; step < 3; ++step) {
        for (int64_t i = 0; i < 8; ++i)
          EXPECT_EQ(
              getPlace(halves, thread, i + 8 * (step + 3 * block)),
              (Place{rowOf(thread, block, i & 2),
                     step * 16 + thread % 4 * 2 + (i & 1) + (i & 4) * 2}));
        for (int64_t i = 0; i < 16; ++i)
          EXPECT_EQ(
              getPlace(bytes, thread, i + 16 * (step + 3 * block)),
              (Place{rowOf(thread, block, i & 4),
                     step * 32 + thread % 4 * 4 + (i & 3) + (i & 8) * 2}));
      }
    }
}

/// Returns the row and column of element i of a lane in an instruction of 16
/// rows and 8 columns (PTX ISA, mma, Matrix Fragments for mma.m16n8k32 and
/// mma.m16n8k64).
Place getElementOfA(int64_t lane, int64_t i, int64_t k) {
  int64_t word = k / 8, t = lane % 4;
  return {lane / 4 + 8 * (i / word % 2),
          t * word + i % word + (i < 2 * word ? 0 : k / 2)};
}
Place getElementOfB(int64_t lane, int64_t i, int64_t k) {
  int64_t word = k / 8, t = lane % 4;
  return {lane / 4, t * word + i % word + (i < word ? 0 : k / 2)};
}
Place getElementOfD(int64_t lane, int64_t i) {
  return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2};
}

/// Instructions of a warp are ordered along the reduction, then by rows, then
/// by columns.
TEST_F(FragmentLayout, MmaSyncElements) {
  auto e4m3 = Float8E4M3FNType::get(&context);
  auto e2m1 = Float4E2M1FNType::get(&context);
  for (auto [kind, type, k] :
       {std::tuple(MmaKind::MXF8F6F4, Type(e4m3), int64_t(32)),
        std::tuple(MmaKind::MXF8F6F4, Type(e2m1), int64_t(32)),
        std::tuple(MmaKind::MXF4, Type(e2m1), int64_t(64))}) {
    // Each of 2 x 2 warps computes 32 rows and 64 columns with 3 instructions
    // along K.
    auto mma = MmaSyncAttr::get(&context, kind, 64, 128, 2, 2, 32, 0);
    FragmentLayoutAttr a = get(mma.getOperandModes(MmaOperand::A, type, 3 * k));
    FragmentLayoutAttr b = get(mma.getOperandModes(MmaOperand::B, type, 3 * k));
    FragmentLayoutAttr d = get(mma.getAccumulatorModes(128));
    for (FragmentLayoutAttr layout : {a, b, d})
      checkAnswers(layout);
    EXPECT_EQ(d.getWarpRows(), 0);
    int64_t ofA = k / 2, ofB = k / 4; // elements per lane
    // In mxf8f6f4, where 4-bit elements occupy bytes, the elements of both
    // halves of a lane alternate.
    bool isSpread = kind == MmaKind::MXF8F6F4 && type == e2m1;
    auto getNumber = [&](int64_t i, int64_t count) {
      return isSpread ? i % 2 * (count / 2) + i / 2 : i;
    };
    for (int64_t thread = 0; thread < 128; ++thread) {
      int64_t lane = thread % 32, row = thread / 32 % 2 * 32,
              column = thread / 64 * 64;
      for (int64_t step = 0; step < 3; ++step) {
        for (int64_t block = 0; block < 2; ++block)
          for (int64_t i = 0; i < ofA; ++i) {
            Place own = getElementOfA(lane, getNumber(i, ofA), k);
            ASSERT_EQ(
                getPlace(a, thread, (block * 3 + step) * ofA + i),
                (Place{row + 16 * block + own.row, step * k + own.column}));
          }
        for (int64_t block = 0; block < 8; ++block)
          for (int64_t i = 0; i < ofB; ++i) {
            Place own = getElementOfB(lane, getNumber(i, ofB), k);
            ASSERT_EQ(
                getPlace(b, thread, (block * 3 + step) * ofB + i),
                (Place{column + 8 * block + own.row, step * k + own.column}));
          }
      }
      for (int64_t i = 0; i < 64; ++i) {
        Place own = getElementOfD(lane, i % 4);
        ASSERT_EQ(getPlace(d, thread, i),
                  (Place{row + i / 4 % 2 * 16 + own.row,
                         column + i / 8 * 8 + own.column}));
      }
    }
  }
}

/// PTX ISA, mma, Block scaling for mma.sync. For thread-id s, lanes 2s and 2s +
/// 1 of each quad q supply the scales of A for rows q and q + 8, and lane s
/// supplies the scales of B.
TEST_F(FragmentLayout, MmaSyncScales) {
  auto ue8m0 = Float8E8M0FNUType::get(&context);
  for (int64_t warpRows : {16, 32, 64}) {
    auto mma = MmaSyncAttr::get(&context, MmaKind::MXF8F6F4, 2 * warpRows, 64,
                                2, 1, 32, 0);
    FragmentLayoutAttr a =
        get(mma.getOperandModes(MmaOperand::AScales, ue8m0, 8));
    FragmentLayoutAttr b =
        get(mma.getOperandModes(MmaOperand::BScales, ue8m0, 8));
    checkAnswers(a);
    checkAnswers(b);
    for (int64_t thread = 0; thread < 64; ++thread) {
      int64_t q = thread % 32 / 4, t = thread % 4, row = thread / 32 * warpRows;
      for (int64_t scale = 0; scale < 8; ++scale) {
        for (int64_t block = 0; block < warpRows / 16; ++block)
          if (t / 2 == block % 2) { // thread-id
            ASSERT_EQ(getPlace(a, thread, block / 2 * 8 + scale),
                      (Place{row + 16 * block + q + 8 * (t % 2), scale}));
          }
        for (int64_t block = 0; block < 8; ++block)
          if (t == block % 4) {
            ASSERT_EQ(getPlace(b, thread, block / 4 * 8 + scale),
                      (Place{8 * block + q, scale}));
          }
      }
    }
  }
}

/// PTX ISA, ldmatrix. Lane 8 i + r provides the address of row r of matrix i,
/// and lane 4 r + t receives word t of that row in register i. The test loads
/// the registers of a warp this way from the rows returned by the layout.
TEST_F(FragmentLayout, MatrixRows) {
  auto e4m3 = Float8E4M3FNType::get(&context);
  auto e2m1 = Float4E2M1FNType::get(&context);
  auto check = [&](FragmentLayoutAttr layout, int64_t bits) {
    FragmentLayoutAttr rows = layout.getMatrixRows(bits);
    ASSERT_TRUE(rows);
    int64_t word = 32 / bits, words = layout.getNumValues() / word;
    int64_t matrices = std::min<int64_t>(words, 4);
    ASSERT_EQ(rows.getNumThreads(), layout.getNumThreads());
    for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread)
      for (int64_t i = 0; i < words; ++i) {
        int64_t lane = thread % 32, first = thread - lane;
        Place row = getPlace(rows, first + i % matrices * 8 + lane / 4,
                             i / matrices * 4 * word);
        ASSERT_EQ(getPlace(layout, thread, i * word),
                  (Place{row.row, row.column + lane % 4 * word}));
      }
  };
  for (auto [kind, type, bits, k] :
       {std::tuple(MmaKind::MXF8F6F4, Type(e4m3), int64_t(8), int64_t(32)),
        std::tuple(MmaKind::MXF4, Type(e2m1), int64_t(4), int64_t(64))})
    for (auto [m, n] : {std::pair<int64_t, int64_t>(16, 32), {128, 256}}) {
      auto mma = MmaSyncAttr::get(&context, kind, m, n, m / 16,
                                  std::max<int64_t>(n / 64, 1), 32, 0);
      for (int64_t steps : {1, 4})
        for (MmaOperand operand : {MmaOperand::A, MmaOperand::B})
          check(get(mma.getOperandModes(operand, type, steps * k)), bits);
    }
  // Another bit of the lane selects one of two words of 8 rows. The second
  // layout contains a single word.
  check(get({{4, 0, 4}, {2, 1, 0}, {4, 8, 0}}, {{4, 0, 1}, {4, 2, 0}}), 8);
  check(get({{4, 0, 8}, {8, 1, 0}}, {{8, 0, 1}, {2, 8, 0}}), 4);
  check(get({{4, 0, 4}, {8, 1, 0}}, {{4, 0, 1}}), 8);
  // Not supported: a thread that holds a whole row, elements that fill half a
  // word, and gaps between the elements of a word.
  EXPECT_FALSE(get({{32, 1, 0}}, {{16, 0, 1}}).getMatrixRows(8));
  EXPECT_FALSE(
      get({{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 0, 8}}).getMatrixRows(8));
  EXPECT_FALSE(
      get({{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 0, 8}}).getMatrixRows(4));
}

/// A fragment has the shape of its layout.
TEST_F(FragmentLayout, Fragments) {
  Type f32 = Float32Type::get(&context);
  FragmentType sums = FragmentType::get(f32, getWgmma(128));
  EXPECT_EQ(sums.getRows(), 64);
  EXPECT_EQ(sums.getColumns(), 128);
  EXPECT_EQ(sums.getRowType(), VectorType::get({32}, f32));
  MmaAttrInterface wgmma = WgmmaAttr::get(&context, 64, 128, 16, 1);
  EXPECT_EQ(wgmma.getAccumulatorType(f32, 128), sums);
  MmaAttrInterface tcgen05 =
      Tcgen05MmaAttr::get(&context, MmaKind::MXF8F6F4, 128, 256, 1, 32);
  EXPECT_FALSE(tcgen05.getAccumulatorType(f32, 32));
}

} // namespace
