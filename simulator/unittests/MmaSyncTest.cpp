//===- MmaSyncTest.cpp - mma.sync of every shape and type -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes fragments by the formulas of the PTX ISA for each shape, and compares
// the result with an exact sum. ptxas accepts all instructions for sm_90a.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <cfenv>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct Place {
  unsigned row, column;
};
/// Returns the position of element i of a thread's fragment, where `group` is
/// thread / 4 and `t` is thread % 4.
using Fragment = Place (*)(unsigned group, unsigned t, unsigned i);

// Layouts from "Matrix Fragments for mma.m16n8k8" and the sections for other
// shapes, with `count` elements in a register. Registers of A alternate between
// rows g and g + 8, and each pair of registers advances by 4 * count columns.
// Rows of B are indexed by K, columns by N.
template <unsigned count>
Place a(unsigned g, unsigned t, unsigned i) {
  unsigned reg = i / count;
  return {g + reg % 2 * 8, t * count + i % count + reg / 2 * 4 * count};
}
template <unsigned count>
Place b(unsigned g, unsigned t, unsigned i) {
  return {t * count + i % count + i / count * 4 * count, g};
}
constexpr Fragment accumulators = a<2>;

struct Shape {
  unsigned m, k;
  Fragment a, b;
};
const Shape k8{16, 8, a<2>, b<2>}, k16{16, 16, a<2>, b<2>},
    wide4{16, 4, a<1>, b<1>}, wide8{16, 8, a<1>, b<1>},
    byte8{8, 16, a<4>, b<4>}, byte16{16, 16, a<4>, b<4>},
    byte32{16, 32, a<4>, b<4>}, nibble8{8, 32, a<8>, b<8>},
    nibble32{16, 32, a<8>, b<8>}, nibble64{16, 64, a<8>, b<8>},
    bit8{8, 128, a<32>, b<32>}, bit128{16, 128, a<32>, b<32>},
    bit256{16, 256, a<32>, b<32>};

/// Arithmetic of an MMA: accumulator type and integer overflow.
enum class Mode { Float, Half, Integer, Saturate, Xor };

struct Row {
  const char *text; ///< follows "mma.sync.aligned."
  Shape shape;
  WarpType a, b;
  Mode mode = Mode::Float;
};
const Row table[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", k8, tF16, tF16},
    {"m16n8k16.row.col.f32.f16.f16.f32", k16, tF16, tF16},
    {"m16n8k8.row.col.f16.f16.f16.f16", k8, tF16, tF16, Mode::Half},
    {"m16n8k16.row.col.f16.f16.f16.f16", k16, tF16, tF16, Mode::Half},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", k8, tBF16, tBF16},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", k16, tBF16, tBF16},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", wide4, tTF32, tTF32},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", wide8, tTF32, tTF32},
    {"m16n8k16.row.col.f32.e4m3.e5m2.f32", byte16, tE4M3, tE5M2},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", byte32, tE4M3, tE4M3},
    {"m16n8k32.row.col.f32.e5m2.e4m3.f32", byte32, tE5M2, tE4M3},
    {"m16n8k32.row.col.f16.e4m3.e4m3.f16", byte32, tE4M3, tE4M3, Mode::Half},
    {"m8n8k16.row.col.s32.s8.u8.s32", byte8, tS8, tU8, Mode::Integer},
    {"m16n8k16.row.col.s32.u8.s8.s32", byte16, tU8, tS8, Mode::Integer},
    {"m16n8k32.row.col.s32.s8.s8.s32", byte32, tS8, tS8, Mode::Integer},
    {"m16n8k32.row.col.satfinite.s32.u8.u8.s32", byte32, tU8, tU8,
     Mode::Saturate},
    {"m8n8k32.row.col.s32.s4.u4.s32", nibble8, tS4, tU4, Mode::Integer},
    {"m16n8k32.row.col.satfinite.s32.u4.s4.s32", nibble32, tU4, tS4,
     Mode::Saturate},
    {"m16n8k64.row.col.s32.s4.s4.s32", nibble64, tS4, tS4, Mode::Integer},
    {"m8n8k128.row.col.s32.b1.b1.s32.and.popc", bit8, tB1, tB1, Mode::Integer},
    {"m16n8k128.row.col.s32.b1.b1.s32.xor.popc", bit128, tB1, tB1, Mode::Xor},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", bit256, tB1, tB1, Mode::Xor},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", bit256, tB1, tB1,
     Mode::Integer},
};

uint32_t pick(std::mt19937 &random, const WarpType &type, bool isSmall) {
  for (;;) {
    uint32_t code = finiteCode(random, type.bits, type.value, {10, 10});
    double value = type.value(code);
    // Sums of small values are exact in f16.
    if (!isSmall ||
        (std::fabs(value) <= 4 && value * 4 == std::rint(value * 4)))
      return code;
  }
}

struct Registers {
  unsigned a, b, c;
};
Registers countsOf(const Row &row) {
  unsigned k = row.shape.k, m = row.shape.m;
  return {m * k * row.a.bits / 1024, 8 * k * row.b.bits / 1024,
          m * 8 * (row.mode == Mode::Half ? 16 : 32) / 1024};
}

void check(const Row &row, unsigned seed) {
  std::mt19937 random(seed);
  unsigned m = row.shape.m, k = row.shape.k;
  std::vector<std::vector<uint32_t>> a(m, std::vector<uint32_t>(k)),
      b(k, std::vector<uint32_t>(8)), c(m, std::vector<uint32_t>(8));
  bool half = row.mode == Mode::Half;
  bool isFloat = row.mode == Mode::Float || half;
  for (auto &line : a)
    for (uint32_t &code : line)
      code = pick(random, row.a, half);
  for (auto &line : b)
    for (uint32_t &code : line)
      code = pick(random, row.b, half);
  for (auto &line : c)
    for (uint32_t &code : line)
      code = half      ? 0x4000 | (random() & 0x8300)
             : isFloat ? asBits(std::normal_distribution<float>()(random))
             // Values near the limits make sums wrap or saturate.
             : random() % 2 ? 0x7FFFFFFF - random() % 2000
                            : 0x80000000 + random() % 2000;
  // Pack the elements into registers, starting at the lowest bits.
  Registers counts = countsOf(row);
  unsigned perThread = counts.a + counts.b + counts.c;
  std::vector<uint32_t> in(32 * perThread);
  auto put = [&](unsigned thread, unsigned first, unsigned bits, unsigned i,
                 uint32_t code) {
    in[thread * perThread + first + i * bits / 32] |= code << i * bits % 32;
  };
  unsigned accumulatorBits = half ? 16 : 32;
  for (unsigned thread = 0; thread < 32; ++thread) {
    unsigned g = thread / 4, t = thread % 4;
    for (unsigned i = 0; i < counts.a * 32 / row.a.bits; ++i) {
      Place at = row.shape.a(g, t, i);
      put(thread, 0, row.a.bits, i, a[at.row][at.column]);
    }
    for (unsigned i = 0; i < counts.b * 32 / row.b.bits; ++i) {
      Place at = row.shape.b(g, t, i);
      put(thread, counts.a, row.b.bits, i, b[at.row][at.column]);
    }
    for (unsigned i = 0; i < counts.c * 32 / accumulatorBits; ++i) {
      Place at = accumulators(g, t, i);
      put(thread, counts.a + counts.b, accumulatorBits, i,
          c[at.row][at.column]);
    }
  }
  std::string text = "mma.sync.aligned." + std::string(row.text) + " " +
                     registers(100, counts.c) + "," + registers(0, counts.a) +
                     "," + registers(counts.a, counts.b) + "," +
                     registers(counts.a + counts.b, counts.c) + ";\n";
  KernelResult r =
      runKernel(loadWords(0, perThread, 0) + text + storeWords(100, counts.c),
                in, 32 * counts.c, 32);
  ASSERT_EQ(r.error, "") << row.text;
  ASSERT_TRUE(r.report.clean()) << row.text << r.report.text();
  for (unsigned thread = 0; thread < 32; ++thread)
    for (unsigned i = 0; i < counts.c * 32 / accumulatorBits; ++i) {
      Place at = accumulators(thread / 4, thread % 4, i);
      uint32_t got = r.out[thread * counts.c + i * accumulatorBits / 32] >>
                     i * accumulatorBits % 32;
      uint32_t old = c[at.row][at.column];
      BigFixed sum;
      int64_t integer = int32_t(old);
      double small = f16(old);
      if (row.mode == Mode::Float)
        sum.add(asFloat(old));
      for (unsigned n = 0; n < k; ++n) {
        double x = row.a.value(a[at.row][n]), y = row.b.value(b[n][at.column]);
        double term = row.mode == Mode::Xor ? double(x != y) : x * y;
        sum.add(term);
        small += term;
        integer += int64_t(isFloat ? 0 : term);
      }
      if (row.mode == Mode::Saturate)
        integer =
            std::min<int64_t>(std::max<int64_t>(integer, INT32_MIN), INT32_MAX);
      if (half)
        ASSERT_EQ(f16(got & 0xFFFF), small) << row.text << " " << thread;
      else
        ASSERT_EQ(got, isFloat ? asBits(float(sum.truncate(24, -149)))
                               : uint32_t(integer))
            << row.text << " thread " << thread << " element " << i;
    }
}

TEST(MmaSync, EqualsTheSchoolbookSum) {
  for (const Row &row : table)
    for (unsigned seed : {1u, 2u})
      check(row, seed);
}

TEST(MmaSync, F64IsAChainOfFusedMultiplyAdds) {
  struct {
    const char *text;
    unsigned m, k;
    int rounding;
  } const rows[] = {
      {"m8n8k4.row.col.f64.f64.f64.f64", 8, 4, FE_TONEAREST},
      {"m16n8k4.row.col.f64.f64.f64.f64.rn", 16, 4, FE_TONEAREST},
      {"m16n8k8.row.col.f64.f64.f64.f64.rz", 16, 8, FE_TOWARDZERO},
      {"m16n8k16.row.col.rm.f64.f64.f64.f64", 16, 16, FE_DOWNWARD},
      {"m16n8k16.row.col.f64.f64.f64.f64.rp", 16, 16, FE_UPWARD},
  };
  for (const auto &row : rows) {
    unsigned numA = row.m * row.k / 32, numB = row.k / 4, numC = row.m / 4;
    unsigned perThread = numA + numB + numC;
    std::mt19937_64 random(row.k);
    std::normal_distribution<double> normal;
    std::vector<double> values(32 * perThread);
    for (double &v : values)
      v = normal(random);
    std::vector<uint32_t> in(values.size() * 2);
    std::memcpy(in.data(), values.data(), in.size() * 4);
    std::string load = "mul.wide.u32 %rd60, %thread, " +
                       std::to_string(perThread * 8) +
                       "; add.u64 %rd60, %rd60, %in;\n";
    std::string store = "mul.wide.u32 %rd61, %thread, " +
                        std::to_string(numC * 8) +
                        "; add.u64 %rd61, %rd61, %out;\n";
    for (unsigned i = 0; i < perThread; ++i)
      load += "ld.global.f64 %fd" + std::to_string(i) + ", [%rd60+" +
              std::to_string(8 * i) + "];\n";
    for (unsigned i = 0; i < numC; ++i)
      store += "st.global.f64 [%rd61+" + std::to_string(8 * i) + "], %fd" +
               std::to_string(40 + i) + ";\n";
    std::string text = "mma.sync.aligned." + std::string(row.text) + " " +
                       registers(40, numC, "%fd") + "," +
                       registers(0, numA, "%fd") + "," +
                       registers(numA, numB, "%fd") + "," +
                       registers(numA + numB, numC, "%fd") + ";\n";
    KernelResult r = runKernel(load + text + store, in, 32 * numC * 2, 32);
    ASSERT_EQ(r.error, "") << row.text;
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    std::vector<double> out(32 * numC);
    std::memcpy(out.data(), r.out.data(), out.size() * 8);
    auto fragment = [&](unsigned thread, unsigned i) {
      return values[thread * perThread + i];
    };
    // Register i of A in m16n8k16 belongs to row g if i is even, or g + 8.
    auto a = [&](unsigned m, unsigned k) {
      unsigned half = row.m == 16 ? k / 4 * 2 + m / 8 : k / 4;
      return fragment(m % 8 * 4 + k % 4, half);
    };
    auto b = [&](unsigned k, unsigned n) {
      return fragment(n * 4 + k % 4, numA + k / 4);
    };
    for (unsigned thread = 0; thread < 32; ++thread)
      for (unsigned i = 0; i < numC; ++i) {
        Place at = accumulators(thread / 4, thread % 4, i);
        volatile double sum = fragment(thread, numA + numB + i);
        std::fesetround(row.rounding);
        for (unsigned k = 0; k < row.k; ++k)
          sum = std::fma(a(at.row, k), b(k, at.column), sum);
        std::fesetround(FE_TONEAREST);
        ASSERT_EQ(out[thread * numC + i], sum) << row.text << " " << thread;
      }
  }
}

TEST(MmaSync, M8N8K4IsFourMmas) {
  // Sums of integers do not depend on the order of additions.
  struct {
    const char *text;
    bool rowA, rowB, halfC, halfD;
  } const rows[] = {
      {"m8n8k4.row.col.f32.f16.f16.f32", true, false, false, false},
      {"m8n8k4.col.row.f32.f16.f16.f32", false, true, false, false},
      {"m8n8k4.row.row.f16.f16.f16.f16", true, true, true, true},
      {"m8n8k4.col.col.f32.f16.f16.f16", false, false, true, false},
  };
  // f16 codes of -8 to 7.
  auto code = [](int value) -> uint32_t {
    for (unsigned c = 0; c < 0x10000; ++c)
      if (f16(c) == value && (value || !c))
        return c;
    return 0;
  };
  std::vector<uint32_t> codes;
  for (int v = -8; v < 8; ++v)
    codes.push_back(code(v));
  for (const auto &row : rows) {
    std::mt19937 random(3);
    unsigned numC = row.halfC ? 4 : 8, numD = row.halfD ? 4 : 8;
    unsigned perThread = 4 + numC;
    std::vector<uint32_t> in(32 * perThread);
    double a[4][8][4], b[4][4][8], c[4][8][8];
    // Layouts from the figures of "Matrix Fragments for mma.m8n8k4 with .f16".
    auto accumulator = [](unsigned lane, unsigned i, bool half) -> Place {
      if (half)
        return {lane % 4 + (lane < 16 ? 0 : 4), i};
      return {(lane & 1) + (i & 2) + (lane < 16 ? 0 : 4),
              (i & 4) + (lane & 2) + (i & 1)};
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned quad = lane % 16 / 4, high = lane < 16 ? 0 : 4;
      uint32_t *words = &in[lane * perThread];
      for (unsigned i = 0; i < 4; ++i) {
        uint32_t x = random() % 16, y = random() % 16;
        words[i / 2] |= codes[x] << i % 2 * 16;
        words[2 + i / 2] |= codes[y] << i % 2 * 16;
        if (row.rowA)
          a[quad][lane % 4 + high][i] = f16(codes[x]);
        else
          a[quad][i + high][lane % 4] = f16(codes[x]);
        if (row.rowB)
          b[quad][lane % 4][i + high] = f16(codes[y]);
        else
          b[quad][i][lane % 4 + high] = f16(codes[y]);
      }
      for (unsigned i = 0; i < 8; ++i) {
        uint32_t z = random() % 16;
        Place at = accumulator(lane, i, row.halfC);
        c[quad][at.row][at.column] = f16(codes[z]);
        if (row.halfC)
          words[4 + i / 2] |= codes[z] << i % 2 * 16;
        else
          words[4 + i] = asBits(float(f16(codes[z])));
      }
    }
    KernelResult r =
        runKernel(loadWords(0, perThread, 0) + "mma.sync.aligned." + row.text +
                      " " + registers(20, numD) + "," + registers(0, 2) + "," +
                      registers(2, 2) + "," + registers(4, numC) + ";\n" +
                      storeWords(20, numD),
                  in, 32 * numD, 32);
    ASSERT_EQ(r.error, "") << row.text;
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 8; ++i) {
        Place at = accumulator(lane, i, row.halfD);
        unsigned quad = lane % 16 / 4;
        double want = c[quad][at.row][at.column];
        for (unsigned k = 0; k < 4; ++k)
          want += a[quad][at.row][k] * b[quad][k][at.column];
        double got = row.halfD
                         ? f16(r.out[lane * 4 + i / 2] >> i % 2 * 16 & 0xFFFF)
                         : asFloat(r.out[lane * 8 + i]);
        ASSERT_EQ(got, want) << row.text << " lane " << lane;
      }
  }
}

TEST(MmaSync, TruncatesWhenAsked) {
  // Each product of 1 is too small for 25 bits below the exponent of 2^26, so
  // truncation drops the products, but their exact sum is large enough.
  std::string body = "mov.b32 %r0, 0x3C003C00; mov.b32 %r1, 0;\n"
                     "mov.f32 %f0, 0f4C800000;\n" // 2^26
                     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%r10,%r11,%r12,%r13},{%r0,%r0},{%r0},"
                     "{%f0,%f0,%f0,%f0};\n" +
                     storeWords(10, 1);
  for (bool truncates : {false, true}) {
    KernelResult r = runKernel(body, {0}, 32, 32, truncates);
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    // The exact sum of the eight products is 8, which equals the ulp of 2^26.
    EXPECT_EQ(asFloat(r.out[0]), truncates ? 0x1p26f : 0x1p26f + 8);
  }
}

TEST(MmaSync, ReportsInvalidForms) {
  for (const char *text : {
           "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 "
           "{%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r4,%r5},{%f0,%f1,%f2,%f3};",
           "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 "
           "{%f0,%f1,%f2,%f3},{%r0,%r1},{%r4},{%r2,%r3};",
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 "
           "{%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r4,%r5},{%f0,%f1,%f2,%f3};",
           "mma.sync.aligned.m16n8k32.row.col.s32.s8.e4m3.s32 "
           "{%r0,%r1,%r2,%r3},{%r0,%r1,%r2,%r3},{%r4,%r5},{%r0,%r1,%r2,%r3};",
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
           "{%f0,%f1,%f2,%f3},{%r0,%r1,%r2},{%r4,%r5},{%f0,%f1,%f2,%f3};",
           "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32 "
           "{%r0,%r1,%r2,%r3},{%r0,%r1},{%r4},{%r0,%r1,%r2,%r3};",
           "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1."
           "e2m1.f32.ue8m0 {%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r4,%r5},"
           "{%f0,%f1,%f2,%f3},%r6,{0,0},%r7,{0,0};",
           "mma.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r0,%r1},"
           "{%r4},{%f0,%f1,%f2,%f3};",
       }) {
    KernelResult r = runKernel(text, {0}, 1, 32);
    ASSERT_EQ(r.error, "") << text;
    ASSERT_EQ(r.report.findings.size(), 1u) << text;
    EXPECT_EQ(r.report.findings[0].kind, FindingKind::Unsupported) << text;
  }
}

} // namespace
