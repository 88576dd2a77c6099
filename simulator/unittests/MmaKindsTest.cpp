//===- MmaKindsTest.cpp - mma.sync with kinds and block scales ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places fragments, scales and metadata by the formulas of the PTX ISA, and
// compares the result with an exact sum or with the fused sum of MMA-Sim.
// Scales that no selector selects are NaN. ptxas accepts all instructions for
// sm_120a.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct Element {
  WarpType type;
  unsigned shift; ///< bit position of the element in a byte
  int minExponent;
};
const Element e4{{"e4m3", 8, e4m3}, 0, -6}, e5{{"e5m2", 8, e5m2}, 0, -14},
    e3{{"e3m2", 6, e3m2}, 0, -2}, e2{{"e2m3", 6, e2m3}, 0, 0},
    e1{{"e2m1", 4, e2m1}, 2, 0};
const Element *const elements[] = {&e4, &e5, &e3, &e2, &e1};

struct Selector {
  unsigned byte = 0, thread = 0;
};

struct Case {
  std::string kind, vector, scale; ///< "" without block scales: vector, scale
  const Element *a, *b;
  unsigned blocks;
  bool isPacked = false, isSparse = false, isHalf = false;
  const char *version = "8.8";

  unsigned k() const { return 32 * (isPacked ? 2 : 1) * (isSparse ? 2 : 1); }
  unsigned numD() const { return isHalf ? 2 : 4; }
  unsigned numB() const { return isSparse ? 4 : 2; }
  double scaleOf(unsigned code) const {
    return scale == "ue4m3" ? ue4m3(code) : e8m0(code);
  }
  std::string opcode() const {
    std::string d = isHalf ? "f16" : "f32";
    return std::string("mma.") + (isSparse ? "sp::ordered_metadata." : "") +
           "sync.aligned.m16n8k" + std::to_string(k()) +
           ".row.col.kind::" + kind + (blocks ? ".block_scale" : "") +
           (vector.empty() ? "" : ".scale_vec::" + vector) + "." + d + "." +
           a->type.name + "." + b->type.name + "." + d +
           (blocks ? "." + scale : "");
  }
};

/// Codes of the matrices, and their positions in registers.
class Problem {
public:
  const Case &c;
  Selector sa, sb;
  std::vector<std::vector<uint32_t>> a, b; ///< 16 rows of A, 8 columns of B
  uint32_t scaleA[16][4] = {}, scaleB[8][4] = {};
  uint32_t d[16][8];
  std::vector<unsigned> kept[16]; ///< places of the stored elements
  uint32_t metadata[32] = {};

  Problem(const Case &c, std::mt19937 &random, Selector sa, Selector sb)
      : c(c), sa(sa), sb(sb) {
    fill(a, 16, c.k() / (c.isSparse ? 2 : 1), *c.a, random);
    fill(b, 8, c.k(), *c.b, random);
    for (auto &row : scaleA)
      for (uint32_t &code : row)
        code = pickScale(random);
    for (auto &row : scaleB)
      for (uint32_t &code : row)
        code = pickScale(random);
    for (auto &row : d)
      for (uint32_t &code : row)
        code = c.isHalf ? 0x4000 | (random() & 0x8300)
                        : asBits(std::normal_distribution<float>()(random));
    for (unsigned row = 0; row < 16; ++row)
      placeIndices(row, random);
  }

  /// Returns register `reg` of A, which contains 4 or 8 elements, by the ISA's
  /// formulas for "row" and "col" of element i.
  uint32_t wordA(unsigned lane, unsigned reg) const {
    unsigned count = c.isPacked ? 8 : 4, word = 0;
    for (unsigned j = 0; j < count; ++j) {
      unsigned i = reg * count + j;
      unsigned row = lane / 4 + (i / count % 2 ? 8 : 0);
      unsigned column = lane % 4 * count + j + (i >= 2 * count ? 4 * count : 0);
      word |= code(a[row][column], *c.a) << j * (32 / count);
    }
    return word;
  }
  uint32_t wordB(unsigned lane, unsigned reg) const {
    unsigned count = c.isPacked ? 8 : 4, word = 0;
    for (unsigned j = 0; j < count; ++j)
      word |= code(b[lane / 4][lane % 4 * count + j + reg * 4 * count], *c.b)
              << j * (32 / count);
    return word;
  }
  uint32_t wordD(unsigned lane, unsigned reg) const {
    unsigned row = lane / 4, column = lane % 4 * 2;
    return c.isHalf
               ? d[row + 8 * reg][column] | d[row + 8 * reg][column + 1] << 16
               : d[row + reg / 2 * 8][column + reg % 2];
  }
  /// Returns the scales of a lane that the thread selector selects (such as
  /// "%laneid % 4 == 0 or 1"), and NaN for other lanes.
  uint32_t wordScaleA(unsigned lane) const {
    unsigned t = lane % 4, word = ~0u;
    if (t / 2 == sa.thread)
      for (unsigned block = 0; block < c.blocks; ++block)
        setByte(word, sa.byte + block, scaleA[lane / 4 + t % 2 * 8][block]);
    return word;
  }
  uint32_t wordScaleB(unsigned lane) const {
    unsigned word = ~0u;
    if (lane % 4 == sb.thread)
      for (unsigned block = 0; block < c.blocks; ++block)
        setByte(word, sb.byte + block, scaleB[lane / 4][block]);
    return word;
  }

  struct Term {
    double a, b, scaleA, scaleB;
    double product() const { return a * b * scaleA * scaleB; }
  };
  std::vector<Term> terms(unsigned row, unsigned column) const {
    std::vector<Term> out;
    for (unsigned i = 0; i < a[row].size(); ++i) {
      unsigned place = c.isSparse ? kept[row][i] : i;
      Term term{c.a->type.value(a[row][i]), c.b->type.value(b[column][place]),
                1, 1};
      if (c.blocks) {
        unsigned block = place * c.blocks / c.k();
        term.scaleA = c.scaleOf(scaleA[row][block]);
        term.scaleB = c.scaleOf(scaleB[column][block]);
      }
      out.push_back(term);
    }
    return out;
  }

private:
  static void setByte(uint32_t &word, unsigned byte, uint32_t value) {
    word = (word & ~(0xFFu << 8 * byte)) | value << 8 * byte;
  }
  uint32_t code(uint32_t value, const Element &e) const {
    return c.isPacked ? value : value << e.shift;
  }
  void fill(std::vector<std::vector<uint32_t>> &rows, unsigned count,
            unsigned width, const Element &e, std::mt19937 &random) {
    rows.assign(count, std::vector<uint32_t>(width));
    for (auto &row : rows)
      for (uint32_t &code : row)
        do
          code = finiteCode(random, e.type.bits, e.type.value, {});
        // Sums of small values are exact in f16.
        while (c.isHalf && (std::fabs(e.type.value(code)) > 2 ||
                            std::fmod(e.type.value(code) * 2, 1) != 0));
  }
  uint32_t pickScale(std::mt19937 &random) const {
    return c.scale == "ue4m3" ? random() % 127 : 117 + random() % 21;
  }
  /// Places the metadata of a row. Each chunk of 4 elements, or of 4 pairs of
  /// packed elements, uses four bits that contain two increasing indices.
  void placeIndices(unsigned row, std::mt19937 &random) {
    static const unsigned codes[] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
    unsigned unit = c.isPacked ? 2 : 1;
    for (unsigned chunk = 0; c.isSparse && chunk < 16; ++chunk) {
      unsigned code = codes[random() % 6];
      for (unsigned index : {code & 3, code >> 2})
        for (unsigned i = 0; i < unit; ++i)
          kept[row].push_back((chunk * 4 + index) * unit + i);
      metadata[row % 8 * 4 + row / 8 + chunk / 8 * 2] |= code << chunk % 8 * 4;
    }
  }
};

/// Returns the exact sum, rounded toward zero.
uint32_t exactSum(const Problem &p, unsigned row, unsigned column) {
  BigFixed sum;
  sum.add(p.c.isHalf ? f16(p.d[row][column]) : asFloat(p.d[row][column]));
  for (const Problem::Term &term : p.terms(row, column))
    sum.add(term.product());
  double value = sum.truncate(p.c.isHalf ? 11 : 24, p.c.isHalf ? -24 : -149);
  if (!p.c.isHalf)
    return asBits(float(value));
  for (uint32_t code = 0; code < 0x10000; ++code)
    if (f16(code) == value && (value != 0 || code == 0))
      return code;
  return ~0u;
}

/// Returns the exponent of a number, at least the exponent of the smallest
/// normal number.
int exponentOf(double value, int least) {
  return std::max(std::ilogb(value), least);
}

/// Returns the sum as MMA-Sim computes it: every term is truncated relative to
/// the largest exponent. With packed 4-bit elements, each term is the exact dot
/// product of a quarter of K, multiplied by its scales.
uint32_t fusedSum(const Problem &p, unsigned row, unsigned column) {
  std::vector<std::pair<double, int>> parts; // value, exponent
  auto add = [&](double value, int exponent) {
    if (value != 0)
      parts.push_back({value, exponent});
  };
  double c = asFloat(p.d[row][column]);
  add(c, exponentOf(c, -126));
  std::vector<Problem::Term> terms = p.terms(row, column);
  int leastScale = p.c.scale == "ue4m3" ? -6 : -127;
  for (size_t i = 0; i < terms.size() && !p.c.isPacked; ++i) {
    const Problem::Term &t = terms[i];
    if (t.product() != 0)
      add(t.product(), exponentOf(t.a, p.c.a->minExponent) +
                           exponentOf(t.b, p.c.b->minExponent) +
                           exponentOf(t.scaleA, leastScale) +
                           exponentOf(t.scaleB, leastScale));
  }
  for (unsigned quarter = 0; quarter < 4 && p.c.isPacked; ++quarter) {
    double sum = 0, scaleA = 0, scaleB = 0;
    for (size_t i = 0; i < terms.size() / 4; ++i) {
      const Problem::Term &t = terms[quarter * terms.size() / 4 + i];
      sum += t.a * t.b;
      scaleA = t.scaleA;
      scaleB = t.scaleB;
    }
    if (scaleA != 0 && scaleB != 0)
      parts.push_back(
          {sum * scaleA * scaleB,
           exponentOf(scaleA, leastScale) + exponentOf(scaleB, leastScale)});
  }
  int bits = p.c.isPacked ? 35 : 25, largest = -10000;
  for (auto [value, exponent] : parts)
    largest = std::max(largest, exponent);
  double sum = 0;
  for (auto [value, exponent] : parts)
    sum += std::trunc(std::ldexp(value, bits - largest));
  BigFixed whole;
  whole.add(std::ldexp(sum, largest - bits));
  return asBits(float(whole.truncate(24, -149)));
}

std::string ids(Selector s, bool inRegisters, const char *prefix) {
  if (!inRegisters)
    return "{" + std::to_string(s.byte) + "," + std::to_string(s.thread) + "}";
  return std::string("{") + prefix + "0," + prefix + "1}";
}

KernelResult run(const Problem &p, bool inRegisters = false,
                 bool truncates = false) {
  const Case &c = p.c;
  unsigned numB = c.numB(), numD = c.numD(), perThread = 4 + numB + numD + 3;
  std::vector<uint32_t> in;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned r = 0; r < 4; ++r)
      in.push_back(p.wordA(lane, r));
    for (unsigned r = 0; r < numB; ++r)
      in.push_back(p.wordB(lane, r));
    for (unsigned r = 0; r < numD; ++r)
      in.push_back(p.wordD(lane, r));
    in.push_back(p.metadata[lane]);
    in.push_back(p.wordScaleA(lane));
    in.push_back(p.wordScaleB(lane));
  }
  std::string body = loadWords(0, perThread, 0);
  auto reg = [](unsigned r) { return "%r" + std::to_string(r); };
  if (inRegisters)
    for (auto [name, value] :
         {std::pair{"%a0", p.sa.byte}, std::pair{"%a1", p.sa.thread},
          std::pair{"%b0", p.sb.byte}, std::pair{"%b1", p.sb.thread}})
      body += std::string(".reg .b16 ") + name + "; mov.b16 " + name + ", " +
              std::to_string(value) + ";\n";
  body += c.opcode() + " " + registers(100, numD) + "," + registers(0, 4) +
          "," + registers(4, numB) + "," + registers(4 + numB, numD);
  unsigned next = 4 + numB + numD;
  if (c.isSparse)
    body += "," + reg(next) + ",0";
  if (c.blocks)
    body += ", " + reg(next + 1) + "," + ids(p.sa, inRegisters, "%a") + ", {" +
            reg(next + 2) + "}," + ids(p.sb, inRegisters, "%b");
  return runKernel(body + ";\n" + storeWords(100, numD), in, 32 * numD, 32,
                   truncates, "sm_120a", c.version);
}

/// Returns how many of the 128 elements differ from `expected`.
unsigned differences(const Problem &p, const KernelResult &r,
                     uint32_t (*expected)(const Problem &, unsigned,
                                          unsigned)) {
  unsigned wrong = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      uint32_t found = p.c.isHalf
                           ? r.out[lane * 2 + i / 2] >> i % 2 * 16 & 0xFFFF
                           : r.out[lane * 4 + i];
      wrong += found != expected(p, row, column);
    }
  return wrong;
}

void check(const Problem &p, bool inRegisters = false) {
  std::string text = p.c.opcode();
  KernelResult r = run(p, inRegisters);
  ASSERT_EQ(r.error, "") << text;
  ASSERT_TRUE(r.report.clean()) << text << r.report.text();
  ASSERT_TRUE(r.report.findings.empty()) << text << r.report.text();
  EXPECT_EQ(differences(p, r, exactSum), 0u)
      << text << " {" << p.sa.byte << "," << p.sa.thread << "} {" << p.sb.byte
      << "," << p.sb.thread << "}";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Element *a : elements)
    for (const Element *b : elements)
      for (bool isSparse : {false, true}) {
        all.push_back({"mxf8f6f4", "1X", "ue8m0", a, b, 1, false, isSparse});
        all.push_back({"f8f6f4", "", "", a, b, 0, false, isSparse});
        all.push_back({"f8f6f4", "", "", a, b, 0, false, isSparse, true});
      }
  all.push_back({"mxf8f6f4", "", "ue8m0", &e4, &e1, 1});
  for (bool isSparse : {false, true}) {
    all.push_back({"mxf4", "", "ue8m0", &e1, &e1, 2, true, isSparse});
    all.push_back({"mxf4", "2X", "ue8m0", &e1, &e1, 2, true, isSparse});
    all.push_back({"mxf4nvf4", "2X", "ue8m0", &e1, &e1, 2, true, isSparse});
    all.push_back({"mxf4nvf4", "4X", "ue4m3", &e1, &e1, 4, true, isSparse});
    all.push_back(
        {"mxf4nvf4", "4X", "ue8m0", &e1, &e1, 4, true, isSparse, false, "9.1"});
  }
  return all;
}

TEST(MmaKinds, EqualTheSchoolbookSum) {
  std::mt19937 random(1);
  for (const Case &c : cases())
    for (unsigned turn = 0; turn < 3; ++turn)
      check({c, random, {0, turn % 2}, {0, turn}}, turn == 2);
}

/// Tests every pair of selectors that the ISA defines for a kind.
TEST(MmaKinds, UseTheSelectedScales) {
  std::mt19937 random(2);
  const Case kinds[] = {{"mxf8f6f4", "1X", "ue8m0", &e5, &e3, 1},
                        {"mxf4", "2X", "ue8m0", &e1, &e1, 2, true},
                        {"mxf4nvf4", "4X", "ue4m3", &e1, &e1, 4, true}};
  for (const Case &c : kinds)
    for (unsigned byteA = 0; byteA + c.blocks <= 4; byteA += c.blocks)
      for (unsigned byteB = 0; byteB + c.blocks <= 4; byteB += c.blocks)
        for (unsigned threadA = 0; threadA < 2; ++threadA)
          for (unsigned threadB = 0; threadB < 4; ++threadB)
            check({c, random, {byteA, threadA}, {byteB, threadB}}, threadB % 2);
}

TEST(MmaKinds, TruncateLikeMmaSim) {
  std::mt19937 random(3);
  unsigned different = 0;
  for (const Case &c : cases()) {
    if (c.isHalf)
      continue;
    Problem p(c, random, {0, 1}, {0, 2});
    KernelResult r = run(p, false, true);
    ASSERT_EQ(r.error, "") << c.opcode();
    EXPECT_EQ(differences(p, r, fusedSum), 0u) << c.opcode();
    different += differences(p, r, exactSum);
  }
  EXPECT_GT(different, 0u);
}

/// FP8 without a kind is not summed through f16 on sm_120.
TEST(MmaKinds, TruncatePlainFp8LikeMmaSim) {
  std::mt19937 random(4);
  Case c{"f8f6f4", "", "", &e4, &e5, 0};
  Problem p(c, random, {}, {});
  std::vector<uint32_t> out[2];
  for (bool hasKind : {false, true}) {
    std::vector<uint32_t> in;
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned r = 0; r < 4; ++r)
        in.push_back(p.wordA(lane, r));
      for (unsigned r = 0; r < 2; ++r)
        in.push_back(p.wordB(lane, r));
      for (unsigned r = 0; r < 4; ++r)
        in.push_back(p.wordD(lane, r));
    }
    KernelResult r = runKernel(
        loadWords(0, 10, 0) + "mma.sync.aligned.m16n8k32.row.col." +
            (hasKind ? "kind::f8f6f4." : "") + "f32.e4m3.e5m2.f32 " +
            registers(100, 4) + "," + registers(0, 4) + "," + registers(4, 2) +
            "," + registers(6, 4) + ";" + storeWords(100, 4),
        in, 128, 32, true, "sm_120a");
    ASSERT_TRUE(r.report.clean()) << r.error << r.report.text();
    EXPECT_EQ(differences(p, r, fusedSum), 0u);
  }
}

TEST(MmaKinds, NaN) {
  std::mt19937 random(5);
  Case mx{"mxf8f6f4", "1X", "ue8m0", &e5, &e4, 1};
  Case nv{"mxf4nvf4", "4X", "ue4m3", &e1, &e1, 4, true};
  for (bool truncates : {false, true})
    for (unsigned what = 0; what < 5; ++what) {
      Problem p(what < 3 ? mx : nv, random, {0, 0}, {0, 3});
      if (what == 0)
        p.scaleA[5][0] = 0xFF;
      if (what == 1)
        p.a[5][7] = 0x7D;
      if (what == 2)
        p.a[5][7] = 0x7C; // infinity
      if (what == 2)
        p.b[2][7] = 0; // infinity times zero
      if (what == 3)
        p.scaleA[5][3] = 0x7F;
      if (what == 4)
        p.scaleA[5][2] = 0xFF; // the sign is ignored
      KernelResult r = run(p, false, truncates);
      ASSERT_TRUE(r.report.clean()) << r.error << r.report.text();
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i) {
          bool isRow = lane / 4 + i / 2 * 8 == 5;
          bool isColumn = lane % 4 * 2 + i % 2 == 2;
          uint32_t found = r.out[lane * 4 + i];
          if (what == 2 && isRow && !isColumn)
            EXPECT_TRUE((found & 0x7FFFFFFF) == 0x7F800000 ||
                        found == 0x7FFFFFFF);
          else
            EXPECT_EQ(found == 0x7FFFFFFF, isRow) << what << " lane " << lane;
        }
    }
}

//===----------------------------------------------------------------------===//
// Findings and rejected instructions
//===----------------------------------------------------------------------===//

const char *const mma =
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::"
    "1X.f32.e4m3.e4m3.f32.ue8m0 {%r100,%r101,%r102,%r103}, {%r1,%r2,%r3,%r4}, "
    "{%r5,%r6}, {%r7,%r8,%r9,%r10}, ";

/// Scale registers of unselected lanes may be undefined.
TEST(MmaKinds, ReadScalesOfSelectedLanesOnly) {
  // Only the words for lanes in the mask are written.
  auto findings = [&](uint32_t written, const std::string &scales) {
    KernelResult r = runKernel(
        "mov.u32 %r50, smem; shl.b32 %r51, %thread, 2;"
        "add.u32 %r50, %r50, %r51; mov.u32 %r52, %lanemask_eq;"
        "and.b32 %r52, %r52, " +
            std::to_string(written) +
            "; setp.ne.u32 %p1, %r52, 0; @%p1 st.shared.u32 [%r50], 0;"
            "bar.warp.sync -1; ld.shared.u32 %r20, [%r50];" +
            mma + scales + ";",
        {0}, 1, 32, false, "sm_120a");
    EXPECT_EQ(r.error, "");
    return r.report.findings;
  };
  struct {
    const char *scales;
    uint32_t read;
  } const rows[] = {{"%r20, {0,0}, %r0, {0,0}", 0x33333333},
                    {"%r20, {3,1}, %r0, {0,0}", 0xCCCCCCCC},
                    {"%r0, {0,0}, %r20, {1,0}", 0x11111111},
                    {"%r0, {0,0}, %r20, {1,3}", 0x88888888},
                    {"%r20, {0,0}, %r20, {0,2}", 0x77777777}};
  for (const auto &row : rows) {
    EXPECT_TRUE(findings(row.read, row.scales).empty()) << row.scales;
    for (uint32_t missing :
         {row.read & -row.read, 1u << 31 >> __builtin_clz(row.read)}) {
      std::vector<Finding> found = findings(row.read & ~missing, row.scales);
      ASSERT_EQ(found.size(), 1u) << row.scales;
      EXPECT_EQ(found[0].kind, FindingKind::UninitShared);
    }
  }
}

TEST(MmaKinds, ReportIdsOutOfRange) {
  auto message = [&](const std::string &before, const std::string &scales) {
    KernelResult r = runKernel(".reg .b16 %i<4>; mov.b16 %i0, 0;" + before +
                                   mma + scales + ";",
                               {0}, 1, 32, false, "sm_120a");
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.report.findings.size(), 1u);
    return r.report.findings.empty() ? "" : r.report.findings[0].message;
  };
  EXPECT_EQ(message("mov.b16 %i1, 4;", "%r0, {%i1,%i0}, %r0, {%i0,%i0}"),
            "mma.sync: byte-id-a must be 0 to 3 with .scale_vec::1X, found 4");
  EXPECT_EQ(message("mov.b16 %i1, 2;", "%r0, {%i0,%i1}, %r0, {%i0,%i0}"),
            "mma.sync: thread-id-a must be 0 to 1, found 2");
  EXPECT_EQ(message("mov.b16 %i1, 4;", "%r0, {%i0,%i0}, %r0, {%i0,%i1}"),
            "mma.sync: thread-id-b must be 0 to 3, found 4");
  EXPECT_EQ(message("cvt.u16.u32 %i1, %thread; and.b16 %i1, %i1, 1;",
                    "%r0, {%i0,%i0}, %r0, {%i0,%i1}"),
            "mma.sync: the byte and thread ids of B must be the same in all "
            "lanes of the warp");
}

TEST(MmaKinds, RefuseInvalidForms) {
  std::string d = "{%r0,%r1,%r2,%r3}", a = d, b = "{%r4,%r5}",
              b4 = "{%r4,%r5,%r6,%r7}", half = "{%r8,%r9}";
  std::string all = " " + d + "," + a + "," + b + "," + d;
  std::string scales = ",%r10,{0,0},%r11,{0,0};";
  std::string mx = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.";
  std::string nv = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.";
  struct {
    std::string text, why;
  } const rows[] = {
      {mx + "f32.e4m3.e4m3.f32.ue8m0" + all + scales, "needs .block_scale"},
      {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.block_scale.f32.e4m3."
       "e4m3.f32" +
           all + ";",
       "has no .block_scale"},
      {mx + "block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0" + all + scales,
       "no such combination of kind"},
      {mx + "block_scale.ue8m0.f32.e4m3.e4m3.f32" + all + scales,
       "expects the scale type as the last modifier"},
      {"mma.sync.aligned.kind::mxf4.block_scale" + all + scales,
       "expects the scale type as the last modifier"},
      {nv + "block_scale.f32.e2m1.e2m1.f32.ue8m0" + all + scales,
       "no such combination of kind"},
      {nv + "block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0" + all + scales,
       "need .version 9.1"},
      {nv + "block_scale.scale_vec::4X.f32.e2m1.e4m3.f32.ue4m3" + all + scales,
       "no such combination of types"},
      {mx + "block_scale.f16.e4m3.e4m3.f16.ue8m0 " + half + "," + a + "," + b +
           "," + half + scales,
       "no such combination of types"},
      {"mma.sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 " + d +
           ",{%r4,%r5},{%r6}," + d + ";",
       "expects the shape m16n8k32"},
      {"mma.sp.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 " +
           d + "," + a + "," + b4 + "," + d + ",%r12,0;",
       "sparse MMAs with a kind need .sp::ordered_metadata"},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4."
       "f32.e4m3.e4m3.f32 " +
           d + "," + a + "," + b4 + "," + d + ",%r12,1;",
       "the sparsity selector must be 0, found 1"},
      {mx + "block_scale.f32.e4m3.e4m3.f32.ue8m0" + all +
           ",%r10,{4,0},%r11,{0,0};",
       "byte-id-a must be 0 to 3"},
      {mx + "block_scale.f32.e4m3.e4m3.f32.ue8m0" + all +
           ",%r10,{0,0},%r11,{0,4};",
       "thread-id-b must be 0 to 3, found 4"},
      {nv + "block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0" + all +
           ",%r10,{1,0},%r11,{0,0};",
       "byte-id-a must be 0 or 2 with .scale_vec::2X, found 1"},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e3m2.e4m3.f32" + all + ";",
       "elements of type e3m2 need a kind"},
  };
  for (const auto &row : rows) {
    KernelResult r = runKernel(row.text, {0}, 1, 32, false, "sm_120a", "9.0");
    ASSERT_EQ(r.error, "") << row.text;
    ASSERT_EQ(r.report.findings.size(), 1u) << row.text;
    EXPECT_EQ(r.report.findings[0].kind, FindingKind::Unsupported);
    EXPECT_NE(r.report.findings[0].message.find(row.why), std::string::npos)
        << r.report.findings[0].message;
  }
}

} // namespace
