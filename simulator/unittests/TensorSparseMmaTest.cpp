//===- TensorSparseMmaTest.cpp - tcgen05.mma.sp, .ws and .ashift ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places random sparse operands element by element. Metadata uses the strides
// of CUTLASS's tmem_e_frg, accumulators the data path layouts of the PTX ISA.
// Every element of D is compared with a schoolbook sum of the expanded rows.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct Format {
  unsigned bits, idescCode;
  double (*value)(unsigned);
};
const Format fF16{16, 0, f16}, fBF16{16, 1, bf16}, fTF32{32, 2, tf32},
    fE4M3{8, 0, e4m3}, fE5M2{8, 1, e5m2}, fE2M1{4, 5, e2m1}, fP4{4, 1, e2m1},
    fS8{8, 1, s8};

struct Config {
  const char *name;
  MmaKind kind;
  Format a, b;
  unsigned group, m, n;
  bool sparse = true, ws = false, aInTensor = false, ashift = false;
  unsigned selector = 0, laneBase = 0;
  ScaleVec vec = ScaleVec::Default;
  /// Zero-column mask, and the maximum shift in the instruction descriptor.
  uint64_t mask = 0;
  unsigned maxShiftCode = 0;
};
std::ostream &operator<<(std::ostream &os, const Config &c) {
  return os << c.name;
}

constexpr unsigned columnA = 256, columnMeta = 280, columnSfa = 304,
                   columnSfb = 312;
constexpr uint32_t smemA = 0x4000, smemB = 0x10000;

class Problem {
public:
  Config c;
  unsigned k, stored, blocks, shift;
  std::vector<std::vector<uint32_t>> a, b, d;
  /// Positions of stored elements, and the metadata code of each chunk.
  std::vector<std::vector<unsigned>> kept, codes;
  std::vector<std::vector<uint8_t>> sa, sb;
  TestCta cta[2];
  CtaView views[2];
  MmaOp op;

  /// Creates a problem. With `anyCode`, metadata may repeat or reverse
  /// elements.
  Problem(const Config &config, std::mt19937 &random, bool anyCode = false)
      : c(config), random(random) {
    bool nibbles = c.kind == MmaKind::MXF4 || c.kind == MmaKind::MXF4NVF4;
    unsigned step = nibbles          ? 64
                    : c.b.bits == 32 ? 8
                    : c.b.bits == 16 ? 16
                                     : 32;
    stored = step;
    k = c.sparse ? 2 * step : step;
    blocks = c.kind == MmaKind::MXF8F6F4 ? 1
             : c.kind == MmaKind::MXF4   ? 2
             : nibbles                   ? 4
                                         : 0;
    shift = c.mask >> 56 & 63;
    views[0] = cta[0].view;
    views[1] = cta[1].view;
    auto fill = [&](auto &rows, unsigned count, unsigned width, auto value) {
      rows.resize(count);
      for (auto &row : rows) {
        row.resize(width);
        for (auto &cell : row)
          cell = value();
      }
    };
    fill(a, c.m, stored, [&] { return finite(c.a); });
    fill(b, c.n + shift, k, [&] { return finite(c.b); });
    fill(d, c.m, c.n, [&] {
      return c.kind == MmaKind::I8
                 ? uint32_t(random())
                 : asBits(std::ldexp(float(int(random() % 4001) - 2000),
                                     int(random() % 20) - 15));
    });
    fill(sa, c.m, blocks, [&] { return uint8_t(120 + random() % 14); });
    fill(sb, c.n, blocks, [&] { return uint8_t(120 + random() % 14); });
    if (c.sparse)
      chooseKept(anyCode);
  }

  void place() {
    unsigned perA = c.m / c.group, perB = c.n / c.group + shift;
    for (unsigned p = 0; p < c.group; ++p) {
      for (unsigned r = 0; r < perA; ++r)
        for (unsigned i = 0; i < stored; ++i)
          if (c.aInTensor)
            placeTensorA(p, r, i, a[p * perA + r][i]);
          else
            placeShared(p, smemA, perA, stored * c.a.bits / 8, c.a, r, i,
                        a[p * perA + r][i]);
      for (unsigned r = 0; r < perB; ++r)
        for (unsigned i = 0; i < k; ++i)
          placeShared(p, smemB, perB, rowBytes(c.b), c.b, r, i,
                      b[p * perB + r][i]);
      for (unsigned r = 0; r < perA && c.sparse; ++r)
        placeMetadata(p, r, codes[p * perA + r]);
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
    op.d = tmemAddress(c.laneBase, 0);
    op.aInTensorMemory = c.aInTensor;
    op.aAddress = tmemAddress(c.laneBase, columnA);
    op.aDesc = smemDesc(smemA, perA * 16, 128, 0);
    op.bDesc = smemDesc(smemB, (perB + 7) / 8 * 8 * 16, 128, 0);
    op.sparse = c.sparse;
    op.metadata = tmemAddress(c.laneBase, columnMeta);
    op.weightStationary = c.ws;
    op.zeroColumnMask = c.mask;
    op.shiftA = c.ashift;
    op.scaleA = columnSfa;
    op.scaleB = columnSfb;
    op.idesc = unsigned(c.sparse) << 2 | c.a.idescCode << 7 |
               c.b.idescCode << 10 | c.n / 8 << 17;
    if (blocks)
      op.idesc |= 1u << 23 | c.m / 128 << 27;
    else
      op.idesc |= c.selector | (c.kind == MmaKind::I8 ? 2u : 1u) << 4 |
                  c.m / 16 << 24 | c.maxShiftCode << 30;
    op.enableInputD = true;
  }

  void check() {
    unsigned wrong = 0;
    for (unsigned m = 0; m < c.m; ++m)
      for (unsigned n = 0; n < c.n; ++n) {
        Where at = where(m, n);
        uint32_t got = cta[at.cta].tensor.row(at.lane)[at.column];
        if (got != expected(m, n) && ++wrong < 4)
          ADD_FAILURE() << c.name << " D(" << m << "," << n << ") is "
                        << std::hex << got << ", expected " << expected(m, n);
      }
    EXPECT_EQ(wrong, 0u) << c.name;
  }

private:
  std::mt19937 &random;

  uint32_t finite(const Format &f) {
    return finiteCode(random, f.bits, f.value, {8, 14});
  }

  /// Returns the number of elements per chunk.
  unsigned chunk() const { return blocks > 1 ? 8 : c.b.bits == 32 ? 2 : 4; }

  void chooseKept(bool anyCode) {
    static const unsigned pairs[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0x6, 0xE};
    kept.resize(c.m);
    codes.resize(c.m);
    for (unsigned m = 0; m < c.m; ++m)
      for (unsigned first = 0; first < k; first += chunk()) {
        if (chunk() == 2) {
          unsigned which = random() % 2;
          codes[m].push_back(which ? 0xE : 0x4);
          kept[m].push_back(first + which);
          continue;
        }
        unsigned code = anyCode ? random() % 16 : pairs[random() % 7];
        codes[m].push_back(code);
        for (unsigned index : {code & 3, code >> 2})
          for (unsigned i = 0; i < chunk() / 4; ++i)
            kept[m].push_back(first + index * chunk() / 4 + i);
      }
  }

  struct Where {
    unsigned cta, lane, column;
  };
  bool isHalf() const {
    return (c.group == 1 && c.m == 64 && !c.ws) ||
           (c.group == 2 && c.m == 128 && c.sparse);
  }
  unsigned quarters(unsigned row) const {
    return row / 16 * 32 + row % 16 + c.laneBase;
  }
  Where where(unsigned m, unsigned n) const {
    if (c.ws && c.m < 128) {
      unsigned part = c.n / (128 / c.m);
      return {0, m + n / part * c.m, n % part};
    }
    unsigned perCta = c.m / c.group, row = m % perCta;
    return {m / perCta, isHalf() ? quarters(row) : row, n};
  }
  /// Returns the lanes that contain the copies of row `x` of A.
  std::vector<unsigned> lanesOf(unsigned x) const {
    if (isHalf())
      return {quarters(x)};
    std::vector<unsigned> lanes;
    for (unsigned lane = x; lane < 128; lane += c.ws ? c.m : 128)
      lanes.push_back(lane);
    return lanes;
  }

  /// Returns whether 16 narrow elements are padded to 16 bytes, as for kinds
  /// with 8-bit elements.
  bool isPadded(const Format &f) const { return f.bits < 8 && blocks <= 1; }
  unsigned rowBytes(const Format &f) const {
    return isPadded(f) ? k : k * f.bits / 8;
  }

  // Shared memory is K-major without swizzle, in core matrices of 8 x 16 bytes.
  void placeShared(unsigned p, uint32_t start, unsigned rows, unsigned,
                   const Format &f, unsigned r, unsigned i, uint32_t code) {
    uint32_t lbo = (rows + 7) / 8 * 8 * 16;
    for (unsigned bit = 0; bit < f.bits; ++bit) {
      unsigned position =
          isPadded(f) ? i / 16 * 128 + i % 16 * f.bits + bit : i * f.bits + bit;
      unsigned kb = position / 8;
      uint8_t &byte = cta[p].shared[start + r / 8 * 128 + r % 8 * 16 +
                                    kb / 16 * lbo + kb % 16];
      byte = (byte & ~(1 << position % 8)) | (code >> bit & 1) << position % 8;
    }
  }

  void placeTensorA(unsigned p, unsigned r, unsigned i, uint32_t code) {
    for (unsigned lane : lanesOf(r))
      cta[p].setBits(lane, columnA, i * c.a.bits, c.a.bits, code);
  }

  /// Places the metadata of row `m`, one bit per element (tf32: two bits). The
  /// strides produce virtual addresses lane + 128 * unit.
  void placeMetadata(unsigned p, unsigned m, const std::vector<unsigned> &row) {
    for (unsigned i = 0; i < k; ++i) {
      unsigned perElement = chunk() == 2 ? 2 : 1;
      if (chunk() == 8 && i % 2)
        continue; // two elements share a bit
      unsigned v, position;
      if (chunk() == 2) {
        v = m % 8 + 1024 * (m / 8 % 2) + 16 * (m / 16) + 128 * (i % 8) +
            8 * (i / 8);
        position = v / 128 * 2;
      } else if (c.b.bits == 16) {
        v = m % 8 + 2048 * (m / 8 % 2) + 16 * (m / 16) + 128 * (i % 16) +
            8 * (i / 16);
        position = v / 128;
      } else {
        v = m + 128 * i;
        position = v / 128 / (chunk() == 8 ? 2 : 1);
      }
      unsigned nibble = row[i / chunk()];
      unsigned at = chunk() == 2 ? i % 2 * 2 : chunk() == 8 ? i % 8 / 2 : i % 4;
      for (unsigned lane : lanesOf(v % 128))
        cta[p].setBits(lane, columnMeta + c.selector, position, perElement,
                       nibble >> at & ((1u << perElement) - 1));
    }
  }

  void placeScales() {
    unsigned perA = c.m / c.group;
    for (unsigned p = 0; p < c.group && blocks; ++p)
      for (unsigned kb = 0; kb < blocks; ++kb)
        for (unsigned rep = 0; rep < 4; ++rep) {
          for (unsigned r = 0; r < perA; ++r)
            cta[p].setByte(r % 32 + 32 * rep, columnSfa + r / 32, kb,
                           sa[p * perA + r][kb]);
          for (unsigned n = 0; n < c.n; ++n)
            cta[p].setByte(n % 32 + 32 * rep, columnSfb + n / 32, kb,
                           sb[n][kb]);
        }
  }

  /// Returns whether the zero-column mask masks column `n`. By the examples of
  /// the PTX ISA, runs of use + 1 zeros and skip + 1 ones alternate.
  bool isMasked(unsigned n) const {
    if (!(c.mask >> 39 & 1))
      return false;
    unsigned parts = 128 / c.m, part = n / (c.n / parts);
    std::vector<bool> pattern;
    unsigned skip = (c.mask >> 40 & 255) + 1, use = (c.mask >> 48 & 255) + 1;
    bool ones = c.mask >> (32 + part) & 1;
    while (pattern.size() < 1024) {
      pattern.insert(pattern.end(), ones ? skip : use, ones);
      ones = !ones;
    }
    return pattern[(c.mask >> 8 * part & 255) + n % (c.n / parts)];
  }

  uint32_t expected(unsigned m, unsigned n) const {
    unsigned from = m;
    if (c.ashift && m % 128 != 127)
      from = m + 1;
    BigFixed sum;
    int64_t integer = int32_t(d[m][n]);
    if (c.kind != MmaKind::I8)
      sum.add(asFloat(d[m][n]));
    unsigned perB = c.n / c.group;
    for (unsigned i = 0; i < stored && !isMasked(n); ++i) {
      unsigned at = c.sparse ? kept[from][i] : i;
      double term =
          c.a.value(a[from][i]) *
          c.b.value(b[n / perB * (perB + shift) + n % perB + shift][at]);
      if (blocks)
        term *= e8m0(sa[m][at * blocks / k]) * e8m0(sb[n][at * blocks / k]);
      integer += int64_t(c.kind == MmaKind::I8 ? term : 0);
      sum.add(term);
    }
    if (c.kind == MmaKind::I8)
      return uint32_t(integer);
    return asBits(float(sum.truncate(24, -149)));
  }
};

/// Returns the zero-column mask descriptor with these fields.
uint64_t columnMask(uint64_t skip, uint64_t use, uint64_t firsts,
                    uint64_t starts, uint64_t shift = 0) {
  return starts | firsts << 32 | uint64_t{1} << 39 | (skip - 1) << 40 |
         (use - 1) << 48 | shift << 56;
}

std::vector<Config> configs() {
  using K = MmaKind;
  std::vector<Config> list = {
      {"f16", K::F16, fF16, fF16, 1, 128, 24},
      {"bf16 selector 1", K::F16, fBF16, fBF16, 1, 128, 16},
      {"f16 M64", K::F16, fF16, fF16, 1, 64, 24},
      {"f16 M64 upper lanes", K::F16, fF16, fF16, 1, 64, 24},
      {"f16 pair 256", K::F16, fF16, fF16, 2, 256, 32},
      {"f16 pair 128", K::F16, fF16, fF16, 2, 128, 32},
      {"f16 A in tensor memory", K::F16, fF16, fF16, 1, 128, 16},
      {"tf32", K::TF32, fTF32, fTF32, 1, 128, 16},
      {"tf32 M64", K::TF32, fTF32, fTF32, 1, 64, 16},
      {"f8f6f4", K::F8F6F4, fE4M3, fE5M2, 1, 128, 16},
      {"f8f6f4 M64, B fp4", K::F8F6F4, fE4M3, fE2M1, 1, 64, 16},
      {"f8f6f4 pair 128", K::F8F6F4, fE4M3, fE4M3, 2, 128, 32},
      {"i8", K::I8, fS8, fS8, 1, 128, 16},
      {"mxf8", K::MXF8F6F4, fE4M3, fE4M3, 1, 128, 16},
      {"mxf8 pair", K::MXF8F6F4, fE4M3, fE4M3, 2, 256, 32},
      {"mxf4", K::MXF4, fP4, fP4, 1, 128, 16},
      {"mxf4nvf4", K::MXF4NVF4, fP4, fP4, 1, 128, 16},
  };
  list[1].selector = 1;
  list[3].laneBase = 16;
  list[6].aInTensor = true;
  list.back().vec = ScaleVec::X4;
  auto ws = [&](const char *name, K kind, Format a, Format b, unsigned m,
                unsigned n, bool sparse, uint64_t mask = 0,
                unsigned maxShift = 0, bool aInTensor = false) {
    Config c{name, kind, a, b, 1, m, n};
    c.ws = true;
    c.sparse = sparse;
    c.mask = mask;
    c.maxShiftCode = maxShift;
    c.aInTensor = aInTensor;
    list.push_back(c);
  };
  ws("ws f16 M32", K::F16, fF16, fF16, 32, 64, false);
  ws("ws f16 M64", K::F16, fF16, fF16, 64, 128, false);
  ws("ws f16 M128", K::F16, fF16, fF16, 128, 64, false);
  ws("ws i8 M32", K::I8, fS8, fS8, 32, 256, false);
  ws("ws A in tensor memory", K::F8F6F4, fE4M3, fE4M3, 64, 64, false, 0, 0,
     true);
  ws("ws masked M128", K::F16, fF16, fF16, 128, 64, false,
     columnMask(3, 4, 0, 0));
  ws("ws masked M64", K::F16, fF16, fF16, 64, 64, false,
     columnMask(3, 4, 1, 0x0500));
  ws("ws masked M32", K::TF32, fTF32, fTF32, 32, 128, false,
     columnMask(3, 4, 3, 0x01020100));
  ws("ws shifted", K::F16, fF16, fF16, 32, 64, false,
     columnMask(3, 4, 3, 0x01020100, 2), 2);
  ws("ws sparse M32", K::F16, fF16, fF16, 32, 64, true);
  ws("ws sparse M64", K::TF32, fTF32, fTF32, 64, 64, true, 0, 0, true);
  ws("ws sparse M128", K::F8F6F4, fE4M3, fE4M3, 128, 128, true);
  Config shifted{"ashift", K::F16, fF16, fF16, 1, 128, 16};
  shifted.sparse = false;
  shifted.aInTensor = shifted.ashift = true;
  list.push_back(shifted);
  shifted.name = "ashift pair";
  shifted.group = 2;
  shifted.m = 256;
  shifted.n = 32;
  list.push_back(shifted);
  return list;
}

class SparseMma : public testing::TestWithParam<Config> {};

TEST_P(SparseMma, EqualsTheSchoolbookSum) {
  std::mt19937 random(31);
  auto problem = std::make_unique<Problem>(GetParam(), random);
  problem->place();
  Fault fault = mma(problem->op, problem->views);
  ASSERT_FALSE(fault) << fault.message;
  problem->check();
}
TEST_P(SparseMma, UsesAnyIndexCode) {
  if (!GetParam().sparse || GetParam().kind == MmaKind::TF32)
    GTEST_SKIP() << "needs chunks with two indices";
  std::mt19937 random(33);
  auto problem = std::make_unique<Problem>(GetParam(), random, true);
  problem->place();
  Fault fault = mma(problem->op, problem->views);
  EXPECT_EQ(fault.kind, FaultKind::Metadata) << fault.message;
  problem->check();
}
INSTANTIATE_TEST_SUITE_P(Variants, SparseMma, testing::ValuesIn(configs()));

Fault run(const Config &config, const std::function<void(Problem &)> &edit) {
  std::mt19937 random(32);
  auto problem = std::make_unique<Problem>(config, random);
  problem->place();
  edit(*problem);
  return mma(problem->op, problem->views);
}

TEST(SparseMma, ReportsBadMetadata) {
  Config f16 = configs()[0];
  Fault fault = run(
      f16, [](Problem &p) { p.cta[0].tensor.row(17)[columnMeta] &= ~0xF0u; });
  EXPECT_EQ(fault.kind, FaultKind::Metadata);
  EXPECT_NE(fault.message.find("code 0 of row 17"), std::string::npos)
      << fault.message;
  fault =
      run(f16, [](Problem &p) { p.cta[0].tensor.undefine(40, columnMeta, 1); });
  EXPECT_EQ(fault.kind, FaultKind::Uninitialized);
  fault = run(f16, [](Problem &p) { p.op.metadata += 1; });
  EXPECT_EQ(fault.kind, FaultKind::Alignment);
  fault = run(f16, [](Problem &p) { p.op.idesc |= 2; });
  EXPECT_EQ(fault.kind, FaultKind::Descriptor);
  fault = run(f16, [](Problem &p) { p.op.idesc &= ~4u; });
  EXPECT_EQ(fault.message, "instruction descriptor bit 2 (sparsity) must be 1 "
                           "for tcgen05.mma.sp, got 0");
  Config upper = configs()[3];
  fault = run(upper, [](Problem &p) { p.op.metadata = columnMeta; });
  EXPECT_EQ(fault.kind, FaultKind::Alignment);
}

/// PTX ISA, "Sparsity selector": the selector "must be 0" for kind::f8f6f4 and
/// "is assumed to be 0" for kinds with scales.
TEST(SparseMma, IgnoresTheSelectorOfKindsWithScales) {
  for (const Config &c : configs()) {
    if (!c.sparse || c.b.bits > 8 || c.kind == MmaKind::I8)
      continue;
    Fault fault = run(c, [](Problem &p) { p.op.idesc |= 1; });
    EXPECT_EQ(bool(fault), c.kind == MmaKind::F8F6F4)
        << c.name << fault.message;
  }
}

TEST(SparseMma, ReportsIllegalVariants) {
  auto find = [](const char *name) {
    for (const Config &c : configs())
      if (std::string(c.name) == name)
        return c;
    return Config();
  };
  // With .ws, N must be a power of two of at least 64, and at most 128 for
  // sparse MMAs.
  Config ws = find("ws f16 M32"), sparse = find("ws sparse M32");
  auto withN = [](unsigned n) {
    return [n](Problem &p) {
      p.op.idesc = (p.op.idesc & ~(63u << 17)) | n / 8 << 17;
    };
  };
  EXPECT_EQ(run(ws, withN(32)).kind, FaultKind::Shape);
  EXPECT_EQ(run(ws, withN(192)).kind, FaultKind::Shape);
  EXPECT_EQ(run(sparse, withN(256)).kind, FaultKind::Shape);
  EXPECT_EQ(run(ws, [](Problem &p) { p.op.ctaGroup = 2; }).kind,
            FaultKind::Shape);
  // The shift may not exceed the maximum in the instruction descriptor.
  Config shifted = find("ws shifted");
  EXPECT_EQ(run(shifted, [](Problem &p) { p.op.idesc &= ~(3u << 30); }).kind,
            FaultKind::Descriptor);
  // .ashift needs A in tensor memory and all lanes.
  Config ashift = find("ashift");
  EXPECT_EQ(run(ashift, [](Problem &p) { p.op.aInTensorMemory = false; }).kind,
            FaultKind::Shape);
  EXPECT_EQ(run(ashift,
                [](Problem &p) {
                  p.op.idesc = (p.op.idesc & ~(31u << 24)) | 4u << 24;
                })
                .kind,
            FaultKind::Shape);
  // A sparse K step of 64 bytes does not fit in lines of 32.
  Config f16 = configs()[0];
  Fault fault =
      run(f16, [](Problem &p) { p.op.bDesc = smemDesc(smemB, 0, 256, 6); });
  EXPECT_EQ(fault.message,
            "B: a K step of 64 bytes at offset 0 does not fit in lines of 32 "
            "bytes");
}

} // namespace
