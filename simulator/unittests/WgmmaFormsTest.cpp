//===- WgmmaFormsTest.cpp - wgmma.mma_async of all types ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places operands in shared memory according to the canonical layouts of the
// PTX ISA, and compares every accumulator with an exact sum, or with a sum of
// truncated terms for 8-bit floats. ptxas accepts the instructions of all
// `configs()` for sm_90a.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

constexpr unsigned threads = 128, rowsA = 64;
constexpr uint32_t reserved = 1024; ///< shared memory begins at this offset
constexpr uint32_t placeA = 0, placeB = 8192, sharedBytes = 16384;

/// Descriptor bits 62-63, and the swizzle span in bytes.
struct Layout {
  uint64_t code;
  unsigned span;
};
const Layout plain{0, 0}, sw128{1, 128}, sw64{2, 64}, sw32{3, 32};

struct Config {
  const char *name;
  WarpType a, b;
  const char *d;
  unsigned n;
  Layout layoutA, layoutB;
  bool transposeA = false, transposeB = false, aInRegisters = false;
  bool negateA = false, negateB = false, saturate = false, readD = true;
};
std::ostream &operator<<(std::ostream &os, const Config &c) {
  return os << c.name;
}

class Problem {
public:
  Config c;
  unsigned k;
  bool half, integer;
  std::vector<std::vector<uint32_t>> a, b, d;
  std::vector<uint8_t> image = std::vector<uint8_t>(sharedBytes, 0xA5);

  explicit Problem(const Config &config) : c(config) {
    std::mt19937 random(c.n + c.a.bits);
    k = 256 / c.a.bits;
    half = std::string(c.d) == "f16";
    integer = std::string(c.d) == "s32";
    auto fill = [&](auto &rows, unsigned count, const WarpType &type) {
      rows.assign(count, std::vector<uint32_t>(k));
      for (auto &row : rows)
        for (uint32_t &code : row)
          code = pick(random, type);
    };
    fill(a, rowsA, c.a);
    fill(b, c.n, c.b);
    d.assign(rowsA, std::vector<uint32_t>(c.n));
    for (auto &row : d)
      for (uint32_t &code : row)
        code = integer ? (random() % 2 ? 0x7FFFFFFF : random())
               : half  ? 0x4000 | (random() & 0x8300)
                       : asBits(std::normal_distribution<float>()(random));
    for (unsigned i = 0; i < k; ++i) {
      for (unsigned row = 0; row < rowsA; ++row)
        put(placeA, c.layoutA, c.transposeA, rowsA, c.a, row, i, a[row][i]);
      for (unsigned n = 0; n < c.n; ++n)
        put(placeB, c.layoutB, c.transposeB, c.n, c.b, n, i, b[n][i]);
    }
  }

  unsigned numD() const { return c.n / (half ? 4 : 2); }

  /// Returns the input words: accumulators and registers of A for each thread,
  /// followed by the image of shared memory.
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> out(threads * (numD() + 4));
    for (unsigned t = 0; t < threads; ++t) {
      uint32_t *mine = &out[t * (numD() + 4)];
      forD(t, [&](unsigned reg, unsigned shift, unsigned row, unsigned n) {
        mine[reg] |= d[row][n] << shift;
      });
      // According to the figures of A's fragments in the PTX ISA, registers 0
      // and 1 contain rows g and g + 8. Registers 2 and 3 contain the next 16
      // bytes along K.
      for (unsigned reg = 0; reg < 4; ++reg)
        for (unsigned i = 0; i < 32 / c.a.bits; ++i) {
          unsigned row = t / 32 * 16 + t % 32 / 4 + reg % 2 * 8;
          unsigned at = (reg / 2 * 16 + t % 4 * 4) * 8 / c.a.bits + i;
          mine[numD() + reg] |= a[row][at] << i * c.a.bits;
        }
    }
    size_t before = out.size();
    out.resize(before + sharedBytes / 4);
    std::memcpy(&out[before], image.data(), sharedBytes);
    return out;
  }

  uint64_t descriptor(uint32_t place, const Layout &layout, bool transposed,
                      unsigned rows, const WarpType &type) const {
    Strides s = strides(layout, transposed, rows, type);
    return uint64_t(place + reserved) >> 4 | uint64_t(s.lbo >> 4) << 16 |
           uint64_t(s.sbo >> 4) << 32 | layout.code << 62;
  }

  std::string instruction() const {
    std::string text =
        "wgmma.mma_async.sync.aligned.m64n" + std::to_string(c.n) + "k" +
        std::to_string(k) + (c.saturate ? ".satfinite." : ".") + c.d + "." +
        c.a.name + "." + c.b.name + (c.a.bits == 1 ? ".and.popc " : " ");
    text += registers(0, numD()) + ", ";
    text += c.aInRegisters ? registers(numD(), 4)
                           : std::to_string(descriptor(
                                 placeA, c.layoutA, c.transposeA, rowsA, c.a));
    text += ", " + std::to_string(
                       descriptor(placeB, c.layoutB, c.transposeB, c.n, c.b));
    text += ", %p1";
    if (!integer) {
      text += c.negateA ? ", -1" : ", 1";
      text += c.negateB ? ", -1" : ", 1";
      if (c.a.bits == 16 && !c.aInRegisters)
        text += c.transposeA ? ", 1" : ", 0";
      if (c.a.bits == 16)
        text += c.transposeB ? ", 1" : ", 0";
    }
    return text + ";\n";
  }

  std::string body(const std::string &middle) const {
    std::string text = loadWords(0, numD() + 4, 0);
    // Each of the 128 threads copies 128 bytes.
    text += "mul.wide.u32 %rd1, %thread, 128; add.u64 %rd1, %rd1, %in;\n"
            "mov.u32 %r380, smem; shl.b32 %r381, %thread, 7;\n"
            "add.u32 %r380, %r380, %r381;\n";
    for (unsigned i = 0; i < 8; ++i) {
      std::string at = std::to_string(16 * i);
      text += "ld.global.v4.b32 {%r382,%r383,%r384,%r385}, [%rd1+" +
              std::to_string(threads * (numD() + 4) * 4 + 16 * i) +
              "];\nst.shared.v4.b32 [%r380+" + at +
              "], {%r382,%r383,%r384,%r385};\n";
    }
    text += "fence.proxy.async.shared::cta; bar.sync 0;\n"
            "setp.eq.u32 %p1, " +
            std::string(c.readD ? "0" : "1") + ", 0;\n";
    return text + middle;
  }

  std::string whole() const {
    return body("wgmma.fence.sync.aligned;\n" + instruction() +
                "wgmma.commit_group.sync.aligned;\n"
                "wgmma.wait_group.sync.aligned 0;\n" +
                storeWords(0, numD()));
  }

  void check(const std::vector<uint32_t> &out) const {
    unsigned wrong = 0;
    for (unsigned t = 0; t < threads; ++t)
      forD(t, [&](unsigned reg, unsigned shift, unsigned row, unsigned n) {
        uint32_t got = out[t * numD() + reg] >> shift;
        got = half ? got & 0xFFFF : got;
        if (!isRight(got, row, n) && ++wrong < 4)
          ADD_FAILURE() << c.name << " D(" << row << "," << n << ") is "
                        << std::hex << got;
      });
    EXPECT_EQ(wrong, 0u) << c.name;
  }

private:
  static uint32_t pick(std::mt19937 &random, const WarpType &type) {
    return finiteCode(random, type.bits, type.value, {14, 3, 0x8300});
  }

  struct Strides {
    uint32_t lbo, sbo;
  };
  Strides strides(const Layout &layout, bool transposed, unsigned rows,
                  const WarpType &type) const {
    if (!transposed)
      return layout.span ? Strides{16, layout.span * 8}
                         : Strides{(rows + 7) / 8 * 128, 128};
    // A tile contains 8 lines, one for each index along K. A line contains one
    // span along MN, or 16 bytes without swizzle. Tiles are ordered along K
    // first.
    unsigned tile = (layout.span ? layout.span : 16) * 8;
    unsigned count = k * type.bits / 8 >= 16 ? k / 8 : 1;
    if (!layout.span)
      return {tile, tile * count};
    return {tile * count, tile};
  }
  void put(uint32_t place, const Layout &layout, bool transposed, unsigned rows,
           const WarpType &type, unsigned row, unsigned i, uint32_t code) {
    Strides s = strides(layout, transposed, rows, type);
    uint32_t bit = 0, at;
    if (transposed) {
      unsigned size = type.bits / 8, line = (layout.span ? layout.span : 16);
      unsigned perLine = line / size;
      uint32_t groups = layout.span ? s.lbo : s.sbo;
      uint32_t steps = layout.span ? s.sbo : s.lbo;
      at = row / perLine * groups + row % perLine * size + i % 8 * line +
           i / 8 * steps;
    } else {
      bit = i * type.bits % 8;
      unsigned kb = i * type.bits / 8;
      at = layout.span
               ? row / 8 * s.sbo + row % 8 * layout.span + kb
               : row / 8 * s.sbo + row % 8 * 16 + kb / 16 * s.lbo + kb % 16;
    }
    at += place + reserved;
    unsigned mask = layout.span / 16;
    at ^= (at >> 7 & (mask ? mask - 1 : 0)) << 4;
    uint8_t *bytes = &image[at - reserved];
    if (type.bits < 8)
      *bytes = uint8_t((*bytes & ~(1u << bit)) | code << bit);
    else
      for (unsigned byte = 0; byte < type.bits / 8; ++byte)
        bytes[byte] = uint8_t(code >> 8 * byte);
  }

  /// "WGMMA .m64nNk16 register fragment layout for accumulator matrix D".
  template <typename Fn>
  void forD(unsigned t, Fn fn) const {
    for (unsigned i = 0; i < c.n / 2; ++i) {
      unsigned row = t / 32 * 16 + t % 32 / 4 + (i / 2 % 2) * 8;
      unsigned n = i / 4 * 8 + t % 4 * 2 + i % 2;
      fn(half ? i / 2 : i, half ? i % 2 * 16 : 0, row, n);
    }
  }

  bool isRight(uint32_t got, unsigned row, unsigned n) const {
    BigFixed sum;
    double small = 0;
    int64_t whole = 0;
    if (c.readD) {
      small = half ? f16(d[row][n]) : 0;
      whole = int32_t(d[row][n]);
      if (!half && !integer)
        sum.add(asFloat(d[row][n]));
    }
    std::vector<Factors> factors;
    for (unsigned i = 0; i < k; ++i) {
      double sign = c.negateA != c.negateB ? -1 : 1;
      factors.push_back({c.a.value(a[row][i]) * sign, c.b.value(b[n][i])});
      double term = factors.back().first * factors.back().second;
      sum.add(term);
      small += term;
      whole += int64_t(integer ? term : 0);
    }
    if (integer) {
      if (c.saturate)
        whole =
            std::min<int64_t>(std::max<int64_t>(whole, INT32_MIN), INT32_MAX);
      return got == uint32_t(whole);
    }
    if (half) // other tests cover the rounding
      return std::fabs(f16(got) - small) <=
             std::fabs(small) * 0x1p-10 + 0x1p-20;
    if (is8BitFloat(c.a))
      return got == asBits(sumOf8BitFloats(c.readD ? asFloat(d[row][n]) : 0,
                                           c.a, c.b, factors));
    return got == asBits(float(sum.truncate(24, -149)));
  }
};

std::vector<Config> configs() {
  std::vector<Config> list = {
      {"f16", tF16, tF16, "f32", 64, sw128, sw128},
      {"f16 N256", tF16, tF16, "f32", 256, sw64, sw32},
      {"f16 N8, D f16", tF16, tF16, "f16", 8, plain, plain},
      {"f16 D f16", tF16, tF16, "f16", 72, sw32, sw64},
      {"bf16 transposed", tBF16, tBF16, "f32", 64, sw128, sw128, true, true},
      {"bf16 transposed B", tBF16, tBF16, "f32", 64, sw64, sw64, false, true},
      {"f16 transposed A", tF16, tF16, "f32", 16, sw32, sw32, true},
      {"f16 transposed, plain", tF16, tF16, "f32", 24, plain, plain, true,
       true},
      {"tf32", tTF32, tTF32, "f32", 40, sw128, sw32},
      {"e4m3", tE4M3, tE4M3, "f32", 96, sw128, sw64},
      {"e5m2 x e4m3", tE5M2, tE4M3, "f32", 16, plain, sw128},
      {"s8", tS8, tS8, "s32", 32, sw128, sw128},
      {"u8 x s8", tU8, tS8, "s32", 48, sw32, plain},
      {"s8 saturating", tS8, tU8, "s32", 16, sw128, sw128},
      {"b1", tB1, tB1, "s32", 24, sw128, sw128},
  };
  list[13].saturate = true;
  auto with = [&](const char *name, Config base, auto edit) {
    base.name = name;
    edit(base);
    list.push_back(base);
  };
  using C = Config &;
  for (size_t i : {0, 3, 8, 9, 11, 14}) {
    static std::vector<std::string> names(16);
    names[i] = std::string(list[i].name) + ", A in registers";
    with(names[i].c_str(), list[i], [](C c) { c.aInRegisters = true; });
  }
  with("bf16 transposed B, A in registers", list[5],
       [](C c) { c.aInRegisters = true; });
  with("negated A", list[0], [](C c) { c.negateA = true; });
  with("negated B", list[9], [](C c) { c.negateB = true; });
  with("D not read", list[0], [](C c) { c.readD = false; });
  with("integer D not read", list[11], [](C c) { c.readD = false; });
  return list;
}

class WgmmaForms : public testing::TestWithParam<Config> {};

TEST_P(WgmmaForms, EqualsTheSchoolbookSum) {
  Problem problem(GetParam());
  KernelResult r = runKernel(problem.whole(), problem.words(),
                             threads * problem.numD(), threads);
  ASSERT_EQ(r.error, "");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  problem.check(r.out);
}
INSTANTIATE_TEST_SUITE_P(All, WgmmaForms, testing::ValuesIn(configs()));

LaunchReport runMiddle(const Config &config, const std::string &middle) {
  Problem problem(config);
  std::string text = problem.body("wgmma.fence.sync.aligned;\n");
  std::string use = middle;
  for (size_t at; (at = use.find("MMA")) != std::string::npos;)
    use.replace(at, 3, problem.instruction());
  KernelResult r = runKernel(text + use + storeWords(0, 1), problem.words(),
                             threads, threads);
  EXPECT_EQ(r.error, "");
  return r.report;
}

const char *commit = "wgmma.commit_group.sync.aligned;\n";
std::string wait(unsigned left) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(left) + ";\n";
}

TEST(WgmmaRegisters, MayBeUsedAfterTheWait) {
  Config c = configs()[0];
  std::string mma = "MMA", mmas = mma + mma;
  // MMAs may be chained on an accumulator, and other registers may be moved
  // while MMAs are in flight.
  EXPECT_TRUE(runMiddle(c, mmas + commit + wait(0)).clean());
  EXPECT_TRUE(runMiddle(c, mmas + commit + "mov.b32 %r350, %r0;" + wait(0) +
                               "add.u32 %r350, %r350, 1;")
                  .clean());
  // Registers of one batch may be used while another batch still runs.
  Config inRegisters = c;
  inRegisters.aInRegisters = true;
  EXPECT_TRUE(
      runMiddle(inRegisters, mma + commit + wait(0) + "mov.b32 %r32, 0;")
          .clean());
}

TEST(WgmmaRegisters, MayNotBeUsedBefore) {
  Config c = configs()[0];
  std::string mma = "MMA";
  auto expect = [&](const Config &config, const std::string &middle,
                    const std::string &message) {
    LaunchReport report = runMiddle(config, middle);
    ASSERT_FALSE(report.findings.empty()) << middle;
    EXPECT_EQ(report.findings[0].kind, FindingKind::LoadBeforeWait);
    EXPECT_EQ(report.findings[0].message, message);
  };
  expect(c, mma + commit + "add.u32 %r300, %r5, 1;" + wait(0),
         "an accumulator of wgmma.mma_async is read before wgmma.wait_group");
  // A wait without a commit, or for too few batches, does not suffice.
  expect(c, mma + wait(0) + "add.u32 %r300, %r5, 1;" + commit + wait(0),
         "an accumulator of wgmma.mma_async is read before wgmma.wait_group");
  expect(c, mma + commit + wait(1) + "add.u32 %r300, %r5, 1;" + wait(0),
         "an accumulator of wgmma.mma_async is read before wgmma.wait_group");
  expect(c, mma + commit + "mov.b32 %r5, 0;" + wait(0),
         "an accumulator of wgmma.mma_async is written before "
         "wgmma.wait_group");
  Config inRegisters = c;
  inRegisters.aInRegisters = true;
  expect(inRegisters, mma + commit + "mov.b32 %r32, 0;" + wait(0),
         "a register of A of wgmma.mma_async is written before "
         "wgmma.wait_group");
}

TEST(WgmmaDescriptor, IsChecked) {
  Config c = configs()[0];
  auto expect = [&](const std::string &edit, const std::string &message) {
    LaunchReport report =
        runMiddle(c, "mov.b64 %rd5, " +
                         std::to_string(Problem(c).descriptor(
                             placeB, sw128, false, c.n, c.b)) +
                         ";\n" + edit +
                         "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                         "{%r0,%r1,%r2,%r3}, %rd5, %rd5, %p1, 1, 1, 0, 0;\n" +
                         commit + wait(0));
    ASSERT_FALSE(report.findings.empty()) << edit;
    EXPECT_NE(report.findings[0].message.find(message), std::string::npos)
        << edit << report.text();
  };
  expect("mov.b64 %rd5, 0x4000004000003FC0;", "beyond the");
}

TEST(WgmmaDecoding, ReportsInvalidForms) {
  for (const char *text : {
           "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 "
           "{%r0,%r1,%r2,%r3,%r4,%r5}, %rd0, %rd1, 1, 1, 1, 0, 0;",
           "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r0}, %rd0, "
           "%rd1, 1;",
           "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%r0,%r1}, "
           "%rd0, %rd1, 1, 1, 1, 0, 0;",
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 "
           "{%r0,%r1,%r2,%r3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
           "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 "
           "{%r0,%r1,%r2,%r3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
           "{%r0,%r1,%r2,%r3}, %rd0, %rd1, 1, 2, 1, 0, 0;",
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1}, "
           "%rd0, %rd1, 1, 1, 1, 0, 0;",
           "wgmma.wait_group.sync.aligned %r0;",
           "wgmma.fence.aligned;",
       }) {
    KernelResult r = runKernel(text, {0}, 1, 128);
    ASSERT_EQ(r.error, "") << text;
    ASSERT_FALSE(r.report.findings.empty()) << text;
    EXPECT_EQ(r.report.findings[0].kind, FindingKind::Unsupported) << text;
  }
}

} // namespace
