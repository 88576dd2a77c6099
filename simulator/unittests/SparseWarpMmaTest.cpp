//===- SparseWarpMmaTest.cpp - mma.sp and wgmma.mma_async.sp --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places metadata bit by bit, in the layouts that CUTLASS calls ELayout. ptxas
// accepts all instructions for sm_90a.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct Config {
  const char *text; ///< opcode with types
  WarpType type;
  unsigned k, selector;
  bool isInteger = false, isWgmma = false, aInShared = false;
};

enum class Codes {
  Defined, ///< codes that the PTX ISA defines
  Any,
  FirstHalf, ///< select the first half of each chunk; the rest is NaN
};

/// MMA of a single warp. A warpgroup runs four problems with the same B.
class Problem {
public:
  const Config &c;
  unsigned length, stored; ///< elements per chunk, before and after compression
  std::vector<std::vector<uint32_t>> a, b, d;
  /// Positions along K of the stored elements of each row of A. A tf32 element
  /// is represented by the positions of its two 16-bit halves.
  std::vector<std::vector<unsigned>> kept;
  uint32_t metadata[32] = {};

  Problem(const Config &config, std::mt19937 &random, Codes mode) : c(config) {
    length = c.type.bits == 32 ? 2 : c.type.bits == 4 ? 8 : 4;
    stored = length / 2;
    auto fill = [&](auto &rows, unsigned count, unsigned width) {
      rows.assign(count, std::vector<uint32_t>(width));
      for (auto &row : rows)
        for (uint32_t &code : row)
          code = pick(random);
    };
    fill(a, 16, c.k / 2);
    fill(b, 8, c.k);
    for (auto &row : b)
      for (unsigned i = 0; i < c.k; ++i) {
        if (length == 2)
          row[i] &= ~0x1FFFu;
        if (mode == Codes::FirstHalf && i % length >= length / 2)
          row[i] = length == 2 ? 0x7FFFE000 : (1u << (c.type.bits - 1)) - 1;
      }
    d.assign(16, std::vector<uint32_t>(8));
    for (auto &row : d)
      for (uint32_t &code : row)
        code = c.isInteger ? random()
                           : asBits(std::normal_distribution<float>()(random));
    kept.resize(16);
    static const unsigned codes[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0x6, 0xE};
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned first = 0; first < c.k; first += length) {
        unsigned code =
            length == 2 ? (random() % 2 ? 0xE : 0x4) : codes[random() % 7];
        if (mode == Codes::Any)
          code = random() % 16;
        if (mode == Codes::FirstHalf)
          code = 0x4;
        for (unsigned index : {code & 3, code >> 2})
          if (length == 2)
            kept[row].push_back(first * 2 + index);
          else
            for (unsigned i = 0; i < length / 4; ++i)
              kept[row].push_back(first + index * length / 4 + i);
        place(row, first, code);
      }
  }

  /// Returns register `reg` of A, as for a dense matrix of half the width.
  uint32_t wordA(unsigned lane, unsigned reg) const {
    unsigned perWord = 32 / c.type.bits;
    uint32_t word = 0;
    for (unsigned i = 0; i < perWord; ++i)
      word |= a[lane / 4 + reg % 2 * 8]
               [lane % 4 * perWord + i + reg / 2 * 4 * perWord]
              << i * c.type.bits;
    return word;
  }
  uint32_t wordB(unsigned lane, unsigned reg) const {
    unsigned perWord = 32 / c.type.bits;
    uint32_t word = 0;
    for (unsigned i = 0; i < perWord; ++i)
      word |= b[lane / 4][lane % 4 * perWord + i + reg * 4 * perWord]
              << i * c.type.bits;
    return word;
  }
  uint32_t wordD(unsigned lane, unsigned reg) const {
    return d[lane / 4 + reg / 2 * 8][lane % 4 * 2 + reg % 2];
  }
  uint32_t expected(const Problem &first, unsigned lane, unsigned reg) const {
    unsigned row = lane / 4 + reg / 2 * 8, n = lane % 4 * 2 + reg % 2;
    int64_t whole = int32_t(d[row][n]);
    BigFixed sum;
    if (!c.isInteger)
      sum.add(asFloat(d[row][n]));
    std::vector<Factors> factors;
    for (unsigned i = 0; i < c.k / 2; ++i) {
      factors.push_back({c.type.value(a[row][i]),
                         c.type.value(factor(first.b[n], kept[row], i))});
      double term = factors.back().first * factors.back().second;
      sum.add(term);
      whole += int64_t(c.isInteger ? term : 0);
    }
    if (c.isWgmma && c.type.value == e4m3)
      return asBits(sumOfE4M3(asFloat(d[row][n]), factors));
    return c.isInteger ? uint32_t(whole)
                       : asBits(float(sum.truncate(24, -149)));
  }

private:
  uint32_t factor(const std::vector<uint32_t> &column,
                  const std::vector<unsigned> &from, unsigned i) const {
    if (length != 2)
      return column[from[i]];
    unsigned low = from[2 * i], high = from[2 * i + 1];
    return (column[low / 2] >> low % 2 * 16 & 0xFFFF) |
           (column[high / 2] >> high % 2 * 16 & 0xFFFF) << 16;
  }
  uint32_t pick(std::mt19937 &random) const {
    return finiteCode(random, c.type.bits, c.type.value, {10, 10});
  }

  /// Writes the metadata code of a chunk into the register of its thread.
  void place(unsigned row, unsigned first, unsigned code) {
    unsigned chunk = first / length, chunks = c.k / length;
    unsigned lane = row % 8 * 4, bit;
    if (c.type.bits >= 16) {
      // Each register contains 4 chunks of rows r and r + 8.
      lane += chunks == 4 ? c.selector : c.selector * 2 + chunk / 4;
      bit = chunk % 4 * 4 + row / 8 * 16;
    } else {
      // Each register contains 8 chunks of one row.
      lane += row / 8 + 2 * (chunks == 8 ? c.selector : chunk / 8);
      bit = chunk % 8 * 4;
    }
    metadata[lane] |= code << bit;
  }
};

const Config configs[] = {
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", tF16, 16, 0},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
     tF16, 16, 3},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", tBF16, 32, 0},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", tF16, 32, 1},
    {"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tTF32, 8, 2},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", tTF32, 16, 1},
    {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", tS8, 32, 1, true},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", tS8, 64, 0, true},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", tS4, 64, 0, true},
    {"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32", tS4, 128, 0, true},
    {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", tE4M3, 64, 0},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", tF16, 32, 1, false,
     true},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16", tBF16, 32, 0,
     false, true, true},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32", tTF32, 16, 1,
     false, true},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", tE4M3, 64, 0,
     false, true, true},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", tS8, 64, 0, true,
     true},
};

/// Returns the instruction. The registers of a thread contain its A, B, D and
/// metadata, in this order.
std::string instruction(const Config &c, unsigned numA, unsigned numB) {
  std::string selector = std::to_string(c.selector);
  std::string d = registers(100, 4);
  if (!c.isWgmma)
    return std::string(c.text) + " " + d + "," + registers(0, numA) + "," +
           registers(numA, numB) + "," + registers(numA + numB, 4) + ",%r" +
           std::to_string(numA + numB + 4) + "," + selector + ";\n";
  std::string text;
  for (unsigned i = 0; i < 4; ++i)
    text += "mov.b32 %r" + std::to_string(100 + i) + ", %r" +
            std::to_string(numA + numB + i) + ";\n";
  text += "wgmma.fence.sync.aligned;\n" + std::string(c.text) + " " + d + ", " +
          (c.aInShared ? "%rd2" : registers(0, 4)) + ", %rd1, %r" +
          std::to_string(numA + numB + 4) + ", " + selector + ", 1";
  if (!c.isInteger)
    text += ", 1, 1";
  if (c.type.bits == 16)
    text += c.aInShared ? ", 0, 0" : ", 0";
  return text + ";\nwgmma.commit_group.sync.aligned;\n"
                "wgmma.wait_group.sync.aligned 0;\n";
}

/// Writes A and B without swizzle. A core matrix contains 16 bytes of 8 rows.
std::string fillShared(unsigned numA, unsigned numB) {
  std::string text = "mov.u32 %r200, smem;\n"
                     "and.b32 %r201, %thread, 31; shr.u32 %r202, %r201, 2;\n"
                     "and.b32 %r203, %thread, 3; shl.b32 %r203, %r203, 2;\n"
                     "shl.b32 %r202, %r202, 4; add.u32 %r203, %r203, %r202;\n"
                     "add.u32 %r203, %r203, %r200;\n" // row g, bytes 4 t
                     "shr.u32 %r204, %thread, 5; shl.b32 %r204, %r204, 8;\n"
                     "add.u32 %r204, %r204, %r203;\n";
  // The registers of all warps contain B, so only the first warp stores B.
  text += "setp.lt.u32 %p5, %thread, 32;\n";
  for (unsigned reg = 0; reg < numB; ++reg)
    text += "@%p5 st.shared.b32 [%r203+" + std::to_string(8192 + 128 * reg) +
            "], %r" + std::to_string(numA + reg) + ";\n";
  for (unsigned reg = 0; reg < numA; ++reg)
    text += "st.shared.b32 [%r204+" +
            std::to_string(reg % 2 * 128 + reg / 2 * 1024) + "], %r" +
            std::to_string(reg) + ";\n";
  return text + R"(
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r205, %r200, 4; cvt.u64.u32 %rd2, %r205;
  add.u64 %rd1, %rd2, 512;
  or.b64 %rd1, %rd1, 0x0000000800080000;
  or.b64 %rd2, %rd2, 0x0000000800400000;
)";
}

KernelResult run(const Config &c, const std::vector<Problem> &warps) {
  unsigned numA = 16 * c.k / 2 * c.type.bits / 1024;
  unsigned numB = 8 * c.k * c.type.bits / 1024;
  unsigned perThread = numA + numB + 5;
  std::vector<uint32_t> in;
  for (const Problem &p : warps)
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned r = 0; r < numA; ++r)
        in.push_back(p.wordA(lane, r));
      for (unsigned r = 0; r < numB; ++r)
        in.push_back(warps[0].wordB(lane, r));
      for (unsigned r = 0; r < 4; ++r)
        in.push_back(p.wordD(lane, r));
      in.push_back(p.metadata[lane]);
    }
  return runKernel(loadWords(0, perThread, 0) +
                       (c.isWgmma ? fillShared(numA, numB) : "") +
                       instruction(c, numA, numB) + storeWords(100, 4),
                   in, warps.size() * 32 * 4, warps.size() * 32);
}

LaunchReport check(const Config &c, Codes mode) {
  std::mt19937 random(c.k);
  std::vector<Problem> warps;
  for (unsigned w = 0; w < (c.isWgmma ? 4 : 1); ++w)
    warps.emplace_back(c, random, mode);
  KernelResult r = run(c, warps);
  EXPECT_EQ(r.error, "") << c.text;
  EXPECT_TRUE(r.report.clean()) << c.text << r.report.text();
  for (unsigned w = 0; w < warps.size() && r.report.clean(); ++w)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < 4; ++reg)
        EXPECT_EQ(r.out[(w * 32 + lane) * 4 + reg],
                  warps[w].expected(warps[0], lane, reg))
            << c.text << " warp " << w << " lane " << lane;
  return r.report;
}

TEST(SparseWarpMma, EqualsTheSchoolbookSum) {
  for (const Config &c : configs) {
    LaunchReport report = check(c, Codes::Defined);
    // Some codes select index 2 before index 1, which ".ordered" forbids.
    bool isOrdered = std::string(c.text).find("ordered") != std::string::npos;
    EXPECT_EQ(report.findings.size(), isOrdered ? 1u : 0u) << report.text();
  }
}

/// An H200 uses the indices of all 16 codes unchanged, for all these types.
TEST(SparseWarpMma, UsesAnyIndexCode) {
  for (const Config &c : configs) {
    LaunchReport report = check(c, Codes::Any);
    ASSERT_EQ(report.findings.size(), 1u) << c.text << report.text();
    const Finding &f = report.findings[0];
    EXPECT_EQ(f.kind, FindingKind::SparseMetadata);
    EXPECT_TRUE(f.isWarning);
    EXPECT_NE(f.message.find("has no meaning"), std::string::npos) << f.message;
  }
}

/// On an H200, elements of B that no index selects do not affect the result,
/// even if they are NaN.
TEST(SparseWarpMma, IgnoresElementsWithoutAnIndex) {
  for (const Config &c : configs)
    EXPECT_TRUE(check(c, Codes::FirstHalf).findings.empty()) << c.text;
}

TEST(SparseWarpMma, ReportsBadSelectors) {
  KernelResult r =
      runKernel("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " +
                    registers(100, 4) + "," + registers(0, 4) + "," +
                    registers(4, 4) + "," + registers(8, 4) + ",%r12,2;",
                {0}, 1, 32);
  ASSERT_EQ(r.report.findings.size(), 1u) << r.report.text();
  EXPECT_EQ(r.report.findings[0].message,
            "the sparsity selector must be 0 to 1, got 2");
}

} // namespace
