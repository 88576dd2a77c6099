//===- TensorMmaTest.cpp - tcgen05.mma ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places random operands bit by bit, as the PTX ISA specifies, and compares
// every element of D with an exact schoolbook sum.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct Format {
  ElementType type;
  unsigned bits;
  unsigned idescCode;
  int minExponent;
  double (*value)(unsigned);
};
const Format fE4M3{ElementType::E4M3, 8, 0, -6, e4m3};
const Format fE5M2{ElementType::E5M2, 8, 1, -14, e5m2};
const Format fE2M3{ElementType::E2M3, 6, 3, 0, e2m3};
const Format fE3M2{ElementType::E3M2, 6, 4, -2, e3m2};
const Format fE2M1{ElementType::E2M1, 4, 5, 0, e2m1};
const Format fP4{ElementType::E2M1, 4, 1, 0, e2m1};
const Format fF16{ElementType::F16, 16, 0, -14, f16};
const Format fBF16{ElementType::BF16, 16, 1, -126, bf16};
const Format fTF32{ElementType::TF32, 32, 2, -126, tf32};

/// Descriptor code of a shared-memory layout, and its swizzle span in bytes.
struct Layout {
  uint64_t code;
  unsigned span;
};
const Layout plain{0, 0}, sw32{6, 32}, sw64{4, 64}, sw128{2, 128},
    atom32{1, 128};

struct Config {
  const char *name;
  MmaKind kind;
  Format a, b;
  unsigned group, m, n;
  Layout layoutA, layoutB;
  ScaleVec vec = ScaleVec::Default;
  bool ue4m3 = false;
  bool transposeA = false, transposeB = false;
  bool aInTensor = false;
  bool halfD = false;
  unsigned scaleIdA = 0, scaleIdB = 0;
  bool negateA = false, negateB = false;
};
std::ostream &operator<<(std::ostream &os, const Config &c) {
  return os << c.name;
}

constexpr unsigned columnD = 0, columnA = 256, columnSfa = 304, columnSfb = 312;
constexpr uint32_t smemA = 0x4000, smemB = 0x10000;

class Problem {
public:
  Config c;
  unsigned k, blocks;
  std::vector<std::vector<uint32_t>> a, b;
  std::vector<std::vector<uint8_t>> sa, sb;
  std::vector<std::vector<uint32_t>> d;
  TestCta cta[2];
  CtaView views[2];
  MmaOp op;

  Problem(const Config &config, std::mt19937 &random)
      : c(config), random(random) {
    bool k64 = c.kind == MmaKind::MXF4 || c.kind == MmaKind::MXF4NVF4;
    k = k64 ? 64 : c.a.bits == 32 ? 8 : c.a.bits == 16 ? 16 : 32;
    blocks = c.kind == MmaKind::MXF8F6F4   ? 1
             : c.kind == MmaKind::MXF4     ? 2
             : c.kind != MmaKind::MXF4NVF4 ? 0
             : c.vec == ScaleVec::X2       ? 2
                                           : 4;
    views[0] = cta[0].view;
    views[1] = cta[1].view;
    auto fill = [&](auto &rows, unsigned count, unsigned width) {
      rows.resize(count);
      for (auto &row : rows)
        row.resize(width);
    };
    fill(a, c.m, k);
    fill(b, c.n, k);
    fill(sa, c.m, blocks);
    fill(sb, c.n, blocks);
    fill(d, c.m, c.n);
    for (auto &row : a)
      for (uint32_t &code : row)
        code = finite(c.a);
    for (auto &row : b)
      for (uint32_t &code : row)
        code = finite(c.b);
    for (auto *rows : {&sa, &sb})
      for (auto &row : *rows)
        for (uint8_t &code : row)
          code = c.ue4m3 ? 1 + random() % 126 : 117 + random() % 20;
    for (auto &row : d)
      for (uint32_t &cell : row)
        cell = c.halfD ? random() % 0x7000 | (random() % 2) << 15
                       : asBits(std::ldexp(float(int(random() % 4001) - 2000),
                                           int(random() % 30) - 20));
  }

  uint32_t finite(const Format &f) {
    return finiteCode(random, f.bits, f.value, {8, 14});
  }

  /// Writes the operands into memory and sets up the instruction.
  void place() {
    unsigned perA = c.m / c.group, perB = c.n / c.group;
    for (unsigned p = 0; p < c.group; ++p) {
      for (unsigned r = 0; r < perA; ++r)
        for (unsigned i = 0; i < k; ++i)
          if (c.aInTensor)
            placeTensorA(p, r, i, a[p * perA + r][i]);
          else
            placeShared(p, smemA, c.layoutA, c.transposeA, perA, c.a, r, i,
                        a[p * perA + r][i]);
      for (unsigned r = 0; r < perB; ++r)
        for (unsigned i = 0; i < k; ++i)
          placeShared(p, smemB, c.layoutB, c.transposeB, perB, c.b, r, i,
                      b[p * perB + r][i]);
    }
    placeScales();
    for (unsigned m = 0; m < c.m; ++m)
      for (unsigned n = 0; n < c.n; ++n) {
        Where at = where(m, n);
        cta[at.cta].set(at.lane, at.column, d[m][n]);
      }
    op.kind = c.kind;
    op.ctaGroup = c.group;
    op.scaleVec = c.vec;
    op.d = columnD;
    op.aInTensorMemory = c.aInTensor;
    op.aAddress = columnA;
    op.aDesc = descriptor(smemA, c.layoutA, c.transposeA, perA, c.a);
    op.bDesc = descriptor(smemB, c.layoutB, c.transposeB, perB, c.b);
    op.scaleA = columnSfa;
    op.scaleB = columnSfb;
    op.idesc = c.a.idescCode << 7 | c.b.idescCode << 10 | c.negateA << 13 |
               c.negateB << 14 | c.transposeA << 15 | c.transposeB << 16 |
               c.n / 8 << 17;
    if (blocks)
      op.idesc |= c.scaleIdB << 4 | (c.ue4m3 ? 0 : 1) << 23 | c.m / 128 << 27 |
                  c.scaleIdA << 29;
    else
      op.idesc |= (c.halfD ? 0 : 1) << 4 | c.m / 16 << 24;
    op.enableInputD = true;
  }

  struct Where {
    unsigned cta, lane, column;
  };
  /// Returns a position in data path layouts A, B, D and F.
  Where where(unsigned m, unsigned n) const {
    if (c.group == 1)
      return {0, c.m == 128 ? m : m / 16 * 32 + m % 16, columnD + n};
    if (c.m == 256)
      return {m / 128, m % 128, columnD + n};
    return {m / 64, m % 64 + 64 * (n / (c.n / 2)), columnD + n % (c.n / 2)};
  }

  double valueA(unsigned m, unsigned i) const {
    double v = c.a.value(a[m][i]);
    return c.negateA ? -v : v;
  }
  double valueB(unsigned n, unsigned i) const {
    double v = c.b.value(b[n][i]);
    return c.negateB ? -v : v;
  }
  double scale(uint8_t code) const {
    return c.ue4m3 ? ue4m3(code) : e8m0(code);
  }
  double oldD(unsigned m, unsigned n) const {
    if (!op.enableInputD)
      return 0;
    return c.halfD ? f16(d[m][n]) : asFloat(d[m][n]);
  }

  /// Returns the expected value of D.
  uint32_t expected(unsigned m, unsigned n) const {
    BigFixed sum;
    double special = 0;
    bool finite = true;
    auto add = [&](double term) {
      if (std::isfinite(term))
        return sum.add(term);
      finite = false;
      special += term;
    };
    add(std::ldexp(oldD(m, n), -int(op.scaleInputD)));
    for (unsigned i = 0; i < k; ++i) {
      double term = valueA(m, i) * valueB(n, i);
      if (blocks)
        term *= scale(sa[m][i * blocks / k]) * scale(sb[n][i * blocks / k]);
      add(term);
    }
    if (c.halfD)
      return nearestHalf(sum, finite, special);
    if (!finite)
      return std::isnan(special) ? 0x7FFFFFFF : asBits(float(special));
    double result = sum.truncate(24, -149);
    return std::fabs(result) >= 0x1p128
               ? asBits(result > 0 ? INFINITY : -INFINITY)
               : asBits(float(result));
  }

  /// Searches for the two neighbors among all f16 values.
  static uint32_t nearestHalf(const BigFixed &sum, bool finite,
                              double special) {
    if (!finite)
      return std::isnan(special) ? 0x7FFF : special > 0 ? 0x7C00 : 0xFC00;
    bool exact;
    double low = sum.truncate(60, -600, &exact); // 60 > any sum here
    EXPECT_TRUE(exact);
    uint32_t sign = std::signbit(low) ? 0x8000 : 0;
    double x = std::fabs(low);
    if (x >= 65520)
      return sign | 0x7C00;
    uint32_t code = 0;
    while (code < 0x7BFF && f16(code + 1) <= x)
      ++code;
    double below = f16(code), above = code == 0x7BFF ? 65536 : f16(code + 1);
    if (x - below > above - x || (x - below == above - x && code % 2))
      ++code;
    return sign | code;
  }

  void check(unsigned stride = 1) const {
    unsigned wrong = 0;
    for (unsigned m = 0; m < c.m; ++m)
      for (unsigned n = (m * 7) % stride; n < c.n; n += stride) {
        Where at = where(m, n);
        uint32_t got = cta[at.cta].tensor.row(at.lane)[at.column];
        uint32_t want = expected(m, n);
        if (got == 0x80000000u && want == 0)
          continue;
        if (got != want && ++wrong < 4)
          ADD_FAILURE() << c.name << " D(" << m << "," << n << ") is "
                        << std::hex << got << ", expected " << want;
      }
    EXPECT_EQ(wrong, 0u) << c.name;
  }

private:
  std::mt19937 &random;

  static uint32_t functor(const Layout &layout, uint32_t L) {
    switch (layout.code) {
    case 6:
      return L ^ (L >> 7 & 1) << 4;
    case 4:
      return L ^ (L >> 7 & 3) << 4;
    case 2:
      return L ^ (L >> 7 & 7) << 4;
    case 1:
      return L ^ (L >> 7 & 3) << 5;
    }
    return L;
  }
  /// LBO and SBO of a dense tile in each layout.
  struct Strides {
    uint32_t lbo, sbo;
  };
  Strides strides(const Layout &layout, bool transposed, unsigned rows,
                  const Format &f) const {
    if (!transposed)
      return layout.span ? Strides{16, layout.span * 8}
                         : Strides{rows * 16, 128};
    unsigned size = f.bits / 8, kk = 32 / size;
    if (!layout.span) // LBO steps 8 along K, SBO 16 bytes along MN
      return {128 + 64, (128 + 64) * std::max(kk / 8, 1u)};
    uint32_t atom = layout.code == 1 ? 512 : layout.span * 8;
    unsigned atoms = layout.code == 1 ? kk / 4 : kk / 8;
    return {std::max(atoms, 1u) * atom, atom};
  }
  uint64_t descriptor(uint32_t start, const Layout &layout, bool transposed,
                      unsigned rows, const Format &f) const {
    Strides s = strides(layout, transposed, rows, f);
    return smemDesc(start, s.lbo, s.sbo, layout.code);
  }

  void setBit(uint8_t *bytes, unsigned i, bool value) {
    bytes[i / 8] = (bytes[i / 8] & ~(1 << i % 8)) | value << i % 8;
  }

  void placeShared(unsigned p, uint32_t start, const Layout &layout,
                   bool transposed, unsigned rows, const Format &f, unsigned r,
                   unsigned i, uint32_t code) {
    Strides s = strides(layout, transposed, rows, f);
    uint8_t *memory = cta[p].shared.data();
    if (transposed) {
      unsigned size = f.bits / 8;
      uint32_t L;
      if (!layout.span) {
        unsigned T = 16 / size;
        L = start + r / T * s.sbo + i / 8 * s.lbo + i % 8 * 16 + r % T * size;
      } else {
        unsigned line = layout.span / size, deep = layout.code == 1 ? 4 : 8;
        L = functor(layout, start + r / line * s.lbo + r % line * size +
                                i % deep * layout.span + i / deep * s.sbo);
      }
      for (unsigned byte = 0; byte < size; ++byte)
        memory[L + byte] = code >> 8 * byte;
      return;
    }
    bool padded = f.bits < 8 && k == 32;
    for (unsigned bit = 0; bit < f.bits; ++bit) {
      unsigned position =
          padded ? i / 16 * 128 + i % 16 * f.bits + bit : i * f.bits + bit;
      unsigned kb = position / 8;
      uint32_t at = layout.span ? functor(layout, start + r / 8 * s.sbo +
                                                      r % 8 * layout.span + kb)
                                : start + r / 8 * s.sbo + r % 8 * 16 +
                                      kb / 16 * s.lbo + kb % 16;
      setBit(memory + at, position % 8, code >> bit & 1);
    }
  }

  void placeTensorA(unsigned p, unsigned r, unsigned i, uint32_t code) {
    bool stacked = c.group == 2 && c.m == 128;
    for (unsigned copy = 0; copy < (stacked ? 2 : 1); ++copy) {
      unsigned lane = c.m == 64 ? r / 16 * 32 + r % 16 : r + 64 * copy;
      if (c.a.bits < 8 && k == 32) {
        cta[p].setByte(lane, columnA + i / 4, i % 4,
                       code << (c.a.bits == 4 ? 2 : 1));
        continue;
      }
      cta[p].setBits(lane, columnA, i * c.a.bits, c.a.bits, code);
    }
  }

  void placeScales() {
    bool stacked = c.group == 2 && c.m == 128;
    unsigned perA = c.m / c.group;
    for (unsigned p = 0; p < c.group && blocks; ++p)
      for (unsigned kb = 0; kb < blocks; ++kb) {
        for (unsigned r = 0; r < perA; ++r)
          for (unsigned rep = 0; rep < 4; ++rep)
            cta[p].setByte(r % 32 + 32 * rep, columnSfa + r / 32,
                           c.scaleIdA + kb, sa[p * perA + r][kb]);
        for (unsigned n = 0; n < c.n; ++n)
          for (unsigned rep = 0; rep < 4; ++rep) {
            unsigned half = c.n / 2;
            if (!stacked)
              cta[p].setByte(n % 32 + 32 * rep, columnSfb + n / 32,
                             c.scaleIdB + kb, sb[n][kb]);
            else if (rep / 2 == n / half)
              cta[p].setByte(n % half % 32 + 32 * rep,
                             columnSfb + n % half / 32, c.scaleIdB + kb,
                             sb[n][kb]);
          }
      }
  }
};

std::vector<Config> configs() {
  using K = MmaKind;
  std::vector<Config> list = {
      {"mxf8 e4m3", K::MXF8F6F4, fE4M3, fE4M3, 1, 128, 40, sw128, sw128},
      {"mxf8 e5m2 x e4m3", K::MXF8F6F4, fE5M2, fE4M3, 1, 128, 24, sw64, sw32},
      {"mxf8 e5m2", K::MXF8F6F4, fE5M2, fE5M2, 1, 128, 16, plain, sw128},
      {"mxf8 fp6", K::MXF8F6F4, fE2M3, fE3M2, 1, 128, 16, sw128, plain},
      {"mxf8 fp4 x fp8", K::MXF8F6F4, fE2M1, fE4M3, 1, 128, 16, sw32, sw64},
      {"mxf8 pair 256", K::MXF8F6F4, fE4M3, fE4M3, 2, 256, 64, sw128, sw128},
      {"mxf8 pair 128", K::MXF8F6F4, fE4M3, fE4M3, 2, 128, 96, sw128, sw128},
      {"mxf4", K::MXF4, fP4, fP4, 1, 128, 24, sw128, sw64},
      {"mxf4 pair 256", K::MXF4, fP4, fP4, 2, 256, 32, sw128, sw64},
      {"nvf4", K::MXF4NVF4, fP4, fP4, 1, 128, 24, sw128, sw128, ScaleVec::X4,
       true},
      {"nvf4 pair 128", K::MXF4NVF4, fP4, fP4, 2, 128, 64, sw128, sw128,
       ScaleVec::X4, true},
      {"nvf4 ue8m0 4x", K::MXF4NVF4, fP4, fP4, 1, 128, 16, sw128, sw128,
       ScaleVec::X4},
      {"nvf4 ue8m0 2x", K::MXF4NVF4, fP4, fP4, 1, 128, 16, sw128, sw128,
       ScaleVec::X2},
      {"f16", K::F16, fF16, fF16, 1, 128, 24, sw128, sw128},
      {"f16 M64", K::F16, fF16, fF16, 1, 64, 24, sw32, plain},
      {"bf16", K::F16, fBF16, fBF16, 1, 128, 16, sw128, sw64},
      {"f16 x bf16 pair 256", K::F16, fF16, fBF16, 2, 256, 32, sw128, sw64},
      {"bf16 pair 128", K::F16, fBF16, fBF16, 2, 128, 32, sw128, sw64},
      {"tf32", K::TF32, fTF32, fTF32, 1, 128, 16, sw128, sw128},
      {"f8f6f4", K::F8F6F4, fE4M3, fE2M1, 1, 64, 24, sw128, sw128},
  };
  auto with = [&](const char *name, Config base, auto edit) {
    base.name = name;
    edit(base);
    list.push_back(base);
  };
  Config mx = list[0], f16 = list[13];
  using C = Config &;
  with("mxf8 scale ids", mx, [](C c) { c.scaleIdA = 3, c.scaleIdB = 1; });
  with("mxf4 scale ids", list[7], [](C c) { c.scaleIdA = 2; });
  with("mxf8 negate", mx, [](C c) { c.negateA = true; });
  with("f16 negate both", f16, [](C c) { c.negateA = c.negateB = true; });
  with("mxf8 A in tensor memory", mx, [](C c) { c.aInTensor = true; });
  with("mxf8 fp6 A in tensor memory", list[3], [](C c) { c.aInTensor = true; });
  with("mxf8 fp4 A in tensor memory", list[4], [](C c) { c.aInTensor = true; });
  with("mxf4 A in tensor memory", list[7], [](C c) { c.aInTensor = true; });
  with("f16 M64 A in tensor memory", list[14], [](C c) { c.aInTensor = true; });
  with("pair 256 A in tensor memory", list[5], [](C c) { c.aInTensor = true; });
  with("pair 128 A in tensor memory", list[6], [](C c) { c.aInTensor = true; });
  for (Layout layout : {plain, sw32, sw64, sw128}) {
    with("f16 MN-major", f16, [&](C c) {
      c.transposeA = c.transposeB = true, c.layoutA = c.layoutB = layout;
    });
    with("mxf8 MN-major", mx, [&](C c) {
      c.n = 48, c.transposeA = c.transposeB = true,
      c.layoutA = c.layoutB = layout;
    });
  }
  with("tf32 MN-major", list[18], [](C c) {
    c.transposeA = c.transposeB = true, c.layoutA = c.layoutB = atom32;
  });
  with("f16 D", f16, [](C c) { c.halfD = true; });
  with("f8 f16 D", list[19], [](C c) { c.halfD = true; });
  return list;
}

class MmaExact : public testing::TestWithParam<Config> {};

TEST_P(MmaExact, EveryElementIsTheExactSumRoundedOnce) {
  std::mt19937 random(17);
  auto problem = std::make_unique<Problem>(GetParam(), random);
  problem->place();
  Fault fault = mma(problem->op, problem->views);
  ASSERT_FALSE(fault) << fault.message;
  problem->check(GetParam().m * GetParam().n > 6000 ? 5 : 1);
}

TEST_P(MmaExact, OldDIsNotReadWithoutInputD) {
  std::mt19937 random(18);
  auto problem = std::make_unique<Problem>(GetParam(), random);
  for (auto &row : problem->d)
    for (uint32_t &cell : row)
      cell = 0x7FC00000 | 0x7E00;
  problem->place();
  for (TestCta &cta : problem->cta)
    for (unsigned lane = 0; lane < 128; ++lane)
      cta.tensor.undefine(lane, columnD, 256);
  problem->op.enableInputD = false;
  Fault fault = mma(problem->op, problem->views);
  ASSERT_FALSE(fault) << fault.message;
  problem->check(7);
  for (unsigned m = 0; m < problem->c.m; ++m)
    for (unsigned n = 0; n < problem->c.n; ++n) {
      auto at = problem->where(m, n);
      ASSERT_TRUE(problem->cta[at.cta].tensor.isDefined(at.lane, at.column, 1));
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MmaExact, testing::ValuesIn(configs()));

TEST(Mma, SumsOfAnyExponentsAreExact) {
  // Random bits produce products from 2^-266 to 2^256, some of which cancel.
  std::mt19937 random(19);
  Config config{"wild bf16", MmaKind::F16, fBF16, fBF16, 1,
                128,         16,           sw128, sw128};
  auto problem = std::make_unique<Problem>(config, random);
  for (auto *rows : {&problem->a, &problem->b})
    for (auto &row : *rows)
      for (uint32_t &code : row)
        do
          code = random() & 0xFFFF;
        while (!std::isfinite(bf16(code)));
  for (unsigned i = 0; i < 16; i += 2) // pairs that cancel exactly in row 0
    for (unsigned n = 0; n < 16; ++n) {
      problem->a[0][i + 1] = problem->a[0][i] ^ 0x8000;
      problem->b[n][i + 1] = problem->b[n][i];
    }
  problem->place();
  ASSERT_FALSE(mma(problem->op, problem->views));
  problem->check();
}

TEST(Mma, TinyAndHugeResults) {
  std::mt19937 random(20);
  Config config{"extreme scales",
                MmaKind::MXF8F6F4,
                fE4M3,
                fE4M3,
                1,
                128,
                64,
                sw128,
                sw128};
  auto problem = std::make_unique<Problem>(config, random);
  for (unsigned m = 0; m < 128; ++m)
    problem->sa[m][0] = m < 64 ? random() % 6 : 249 + random() % 6;
  for (unsigned n = 0; n < 64; ++n)
    problem->sb[n][0] = n < 32 ? 70 + random() % 60 : 120 + random() % 135;
  for (auto &row : problem->d)
    for (uint32_t &cell : row)
      cell = random() % 0x01000000 | (random() % 2) << 31; // also subnormals
  problem->place();
  ASSERT_FALSE(mma(problem->op, problem->views));
  problem->check();
}

TEST(Mma, NansAndInfinities) {
  std::mt19937 random(21);
  Config config{"specials", MmaKind::MXF8F6F4, fE5M2, fE4M3, 1, 128, 16, sw128,
                sw128};
  auto problem = std::make_unique<Problem>(config, random);
  problem->a[3][5] = 0x7C; // inf
  problem->a[4][6] = 0x7E; // NaN
  problem->b[2][7] = 0xFF; // NaN
  problem->b[5][5] = 0x00; // inf * 0
  problem->a[9][1] = 0x7C;
  problem->a[9][2] = 0xFC;
  problem->sa[11][0] = 0xFF; // NaN scale
  problem->sb[12][0] = 0xFF;
  problem->d[20][0] = 0x7F800000;
  problem->d[21][0] = 0xFF812345;
  problem->place();
  ASSERT_FALSE(mma(problem->op, problem->views));
  EXPECT_EQ(problem->expected(11, 0), 0x7FFFFFFFu);
  EXPECT_EQ(problem->expected(3, 5), 0x7FFFFFFFu);
  EXPECT_EQ(problem->expected(20, 0), 0x7F800000u);
  problem->check();
}

TEST(Mma, RoundsTowardZeroOnce) {
  // 1 + 2^-24 + 2^-60 and 1 + 2^-23 - 2^-60 round to 1. 1 - 2^-60 rounds to the
  // number below 1.
  std::mt19937 random(22);
  Config config{"rounding", MmaKind::F16, fBF16, fBF16, 1, 128,
                8,          sw128,        sw128};
  auto problem = std::make_unique<Problem>(config, random);
  for (auto *rows : {&problem->a, &problem->b})
    for (auto &row : *rows)
      std::fill(row.begin(), row.end(), 0);
  for (unsigned n = 0; n < 8; ++n)
    problem->b[n][0] = problem->b[n][1] = 0x3F80;
  problem->a[0][0] = 0x3380; // 2^-24
  problem->a[0][1] = 0x2180; // 2^-60
  problem->a[1][0] = 0xA180; // -2^-60
  problem->a[2][0] = 0x3400; // 2^-23
  problem->a[2][1] = 0xA180;
  for (auto &row : problem->d)
    std::fill(row.begin(), row.end(), 0x3F800000);
  // Here D is zero. A sum in double precision would round 1 - 2^-60 up to 1
  // before the truncation.
  problem->a[3][0] = 0x3F80;
  problem->a[3][1] = 0xA180;
  std::fill(problem->d[3].begin(), problem->d[3].end(), 0);
  // 1 - 2^-47 (1 + 2^-7)^2 + 2^-47 (1 + 2^-6) = 1 - 2^-61. The exponents
  // fit in a double, but the last bits of the products do not.
  problem->a[4][0] = 0x3F80;
  problem->a[4][1] = 0x2801;
  problem->a[4][2] = 0x2802;
  problem->b[1][1] = 0xBF81;
  problem->b[1][2] = 0x3F80;
  std::fill(problem->d[4].begin(), problem->d[4].end(), 0);
  problem->place();
  ASSERT_FALSE(mma(problem->op, problem->views));
  EXPECT_EQ(problem->cta[0].tensor.row(3)[0], 0x3F7FFFFFu);
  EXPECT_EQ(problem->cta[0].tensor.row(4)[1], 0x3F7FFFFFu);
  EXPECT_EQ(problem->cta[0].tensor.row(0)[0], 0x3F800000u);
  EXPECT_EQ(problem->cta[0].tensor.row(1)[0], 0x3F7FFFFFu);
  EXPECT_EQ(problem->cta[0].tensor.row(2)[0], 0x3F800000u);
  problem->check();
}

TEST(Mma, ScaleInputDAndDisabledLanes) {
  std::mt19937 random(23);
  Config config{"modifiers", MmaKind::F16, fF16,  fF16, 2,
                256,         32,           sw128, sw128};
  auto problem = std::make_unique<Problem>(config, random);
  problem->place();
  problem->op.scaleInputD = 5;
  uint32_t disabled[8] = {0x2, 0, 0, 0x80000000, 0, 1, 0, 0};
  problem->op.disableOutputLane = disabled;
  ASSERT_FALSE(mma(problem->op, problem->views));
  for (unsigned m = 0; m < 256; ++m) {
    auto at = problem->where(m, 3);
    uint32_t got = problem->cta[at.cta].tensor.row(at.lane)[at.column];
    bool off = m == 1 || m == 127 || m == 128 + 32;
    EXPECT_EQ(got, off ? problem->d[m][3] : problem->expected(m, 3)) << m;
  }
}

TEST(Mma, IntegersWrapOrSaturate) {
  std::mt19937 random(24);
  for (bool saturate : {false, true})
    for (unsigned types = 0; types < 4; ++types) {
      TestCta cta;
      bool signA = types & 1, signB = types & 2;
      uint8_t a[128][32], b[16][32];
      int32_t c[128][16];
      for (unsigned r = 0; r < 128; ++r)
        for (unsigned i = 0; i < 32; ++i)
          cta.shared[0x4000 + r / 8 * 1024 + r % 8 * 128 + (i ^ (r % 8) << 4)] =
              a[r][i] = random();
      for (unsigned r = 0; r < 16; ++r)
        for (unsigned i = 0; i < 32; ++i)
          cta.shared[0x10000 + r / 8 * 1024 + r % 8 * 128 +
                     (i ^ (r % 8) << 4)] = b[r][i] = random();
      for (unsigned m = 0; m < 128; ++m)
        for (unsigned n = 0; n < 16; ++n)
          cta.set(m, n,
                  c[m][n] = n < 4   ? 0x7FFFFF00
                            : n < 8 ? int32_t(0x80000100)
                                    : int32_t(random()) / 4);
      MmaOp op;
      op.kind = MmaKind::I8;
      op.idesc =
          saturate << 3 | 2 << 4 | signA << 7 | signB << 10 | 2 << 17 | 8 << 24;
      op.aDesc = smemDesc(0x4000, 16, 1024, 2);
      op.bDesc = smemDesc(0x10000, 16, 1024, 2);
      op.enableInputD = true;
      Fault fault = mma(op, &cta.view);
      ASSERT_FALSE(fault) << fault.message;
      for (unsigned m = 0; m < 128; ++m)
        for (unsigned n = 0; n < 16; ++n) {
          int64_t sum = c[m][n];
          for (unsigned i = 0; i < 32; ++i)
            sum += (signA ? int8_t(a[m][i]) : a[m][i]) *
                   (signB ? int8_t(b[n][i]) : b[n][i]);
          if (saturate)
            sum =
                std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
          ASSERT_EQ(cta.tensor.row(m)[n], uint32_t(sum));
        }
    }
}

/// Repeats the steps of the truncating model in integers. Exponents are those
/// of unnormalized operands, and terms are truncated to multiples of
/// 2^(E - bits), where E is the largest exponent.
TEST(Mma, Truncate25FollowsTheModel) {
  std::mt19937 random(25);
  for (const Config &config : configs()) {
    if (config.halfD || config.m * config.n > 128 * 48)
      continue;
    auto problem = std::make_unique<Problem>(config, random);
    const Problem &p = *problem;
    problem->place();
    Fault fault = mma(problem->op, problem->views, Numerics::Truncate25);
    ASSERT_FALSE(fault) << fault.message;
    struct Parts {
      double s;
      int e;
    };
    auto parts = [](double x, int least) -> Parts {
      if (x == 0)
        return {0, -126};
      int e;
      double s = std::frexp(x, &e) * 2;
      for (--e; e < least; ++e)
        s /= 2;
      return {s, e};
    };
    int leastScale = config.ue4m3 ? -6 : -127;
    for (unsigned m = 0; m < config.m; m += 3)
      for (unsigned n = m % 3; n < config.n; n += 3) {
        std::vector<Parts> terms = {parts(p.oldD(m, n), -126)};
        if (p.k < 64)
          for (unsigned i = 0; i < p.k; ++i) {
            Parts x = parts(p.valueA(m, i), config.a.minExponent);
            Parts y = parts(p.valueB(n, i), config.b.minExponent);
            Parts t = {x.s * y.s, x.e + y.e};
            if (p.blocks)
              t.e += int(p.sa[m][0]) - 127 + int(p.sb[n][0]) - 127;
            terms.push_back(t);
          }
        else
          for (unsigned g = 0; g < 4; ++g) {
            double dot = 0;
            for (unsigned i = 16 * g; i < 16 * g + 16; ++i)
              dot += p.valueA(m, i) * p.valueB(n, i);
            Parts x = parts(p.scale(p.sa[m][g * p.blocks / 4]), leastScale);
            Parts y = parts(p.scale(p.sb[n][g * p.blocks / 4]), leastScale);
            terms.push_back({dot * x.s * y.s, x.e + y.e});
          }
        // The largest exponent ignores terms of zero, except batches of terms
        // with a sum of zero.
        int top = -100000, bits = p.k < 64 ? 25 : 35;
        for (size_t i = 0; i < terms.size(); ++i)
          if (terms[i].s != 0 || (i && p.k == 64))
            top = std::max(top, terms[i].e);
        BigFixed sum;
        for (Parts t : terms) {
          double scaled = std::ldexp(std::fabs(t.s), t.e - top + bits);
          double whole = std::floor(scaled);
          sum.add(std::ldexp(t.s < 0 ? -whole : whole, top - bits));
        }
        auto at = p.where(m, n);
        uint32_t got = p.cta[at.cta].tensor.row(at.lane)[at.column];
        ASSERT_EQ(got & (got << 1 ? ~0u : 0),
                  asBits(float(sum.truncate(24, -149))))
            << config.name << " " << m << "," << n;
      }
  }
}

TEST(Mma, FaultsWriteNothing) {
  std::mt19937 random(26);
  Config config{"faults", MmaKind::MXF8F6F4, fE4M3, fE4M3, 1, 128, 64, sw128,
                sw128};
  config.scaleIdB = 1;
  auto problem = std::make_unique<Problem>(config, random);
  problem->place();
  auto attempt = [&](auto edit) {
    MmaOp op = problem->op;
    edit(op);
    uint32_t before = problem->cta[0].tensor.row(5)[5];
    Fault fault = mma(op, problem->views);
    if (fault && fault.kind != FaultKind::Uninitialized) {
      EXPECT_EQ(problem->cta[0].tensor.row(5)[5], before);
    }
    return fault;
  };
  using O = MmaOp &;
  EXPECT_EQ(attempt([](O o) { o.d = 480; }).kind, FaultKind::Bounds);
  EXPECT_EQ(attempt([](O o) { o.d = tmemAddress(16, 0); }).message,
            "D must begin at lane 0, got lane 16");
  EXPECT_EQ(attempt([](O o) { o.bDesc = smemDesc(0x30000, 16, 8192, 2); }).kind,
            FaultKind::Bounds);
  EXPECT_EQ(attempt([](O o) { o.aDesc |= uint64_t{3} << 61; }).kind,
            FaultKind::Descriptor);
  EXPECT_EQ(attempt([](O o) { o.scaleInputD = 1; }).kind, FaultKind::Shape);
  EXPECT_FALSE(attempt([](O o) { o.scaleA |= 3u << 30; })) << "ignored bits";
  EXPECT_EQ(attempt([](O o) { o.scaleA = 510; }).kind, FaultKind::Bounds);
  EXPECT_EQ(attempt([](O o) {
              o.aInTensorMemory = true, o.idesc |= 1 << 15;
            }).message,
            "A in tensor memory cannot be transposed");
  Fault fault = attempt([](O o) { o.scaleA = 400; });
  EXPECT_EQ(fault.message, "scale factors of A: row 0 reads tensor memory at "
                           "lane 0, column 400, which has not been written");
  // One replica of SFB(40) differs: lane 8 + 64, second column.
  problem->cta[0].tensor.row(72)[columnSfb + 1] ^= 0x100;
  fault = attempt([](O) {});
  EXPECT_EQ(fault.kind, FaultKind::Descriptor);
  EXPECT_EQ(fault.message,
            "scale factors of B: row 40 differs between lane partitions: lane "
            "72, column 313 does not have the value of lane 8");
  problem->cta[0].tensor.row(72)[columnSfb + 1] ^= 0x10101;
  EXPECT_FALSE(attempt([](O) {})) << "this K step does not use the bytes";
  problem->cta[0].tensor.undefine(77, 33, 1);
  fault = attempt([](O) {});
  EXPECT_EQ(fault.kind, FaultKind::Uninitialized);
  EXPECT_EQ(fault.message, "the MMA accumulates into tensor memory at lane 77, "
                           "column 33, which has not been written");
  EXPECT_FALSE(attempt([](O) {})) << "the cells are written now";
  problem->views[0].owner = 8;
  EXPECT_EQ(attempt([](O) {}).kind, FaultKind::Allocation);
}

} // namespace
