//===- MatrixMoveTest.cpp - ldmatrix, stmatrix, movmatrix -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads rows of random bytes from shuffled addresses and compares the fragments
// with the figures of the PTX ISA, for forms that test/Conformance does not
// compare with an H200. ptxas accepts all valid instructions.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mx::sim;

namespace {

constexpr unsigned rows = 32, rowBytes = 16;

struct Image {
  uint8_t bytes[rows][rowBytes];
  unsigned place[rows]; ///< shared-memory slot of each thread's row

  explicit Image(unsigned seed) {
    std::mt19937 random(seed);
    for (auto &row : bytes)
      for (uint8_t &byte : row)
        byte = uint8_t(random());
    std::iota(std::begin(place), std::end(place), 0);
    std::shuffle(std::begin(place), std::end(place), random);
  }
  /// Returns the address offset and the row of each thread.
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> out;
    for (unsigned t = 0; t < rows; ++t) {
      out.push_back(place[t] * rowBytes);
      for (unsigned i = 0; i < 4; ++i)
        out.push_back(word(t, 4 * i));
    }
    return out;
  }
  uint32_t word(unsigned row, unsigned byte) const {
    return bytes[row][byte] | bytes[row][byte + 1] << 8 |
           bytes[row][byte + 2] << 16 | uint32_t(bytes[row][byte + 3]) << 24;
  }
};

/// Returns code in which each thread writes its row and keeps the address of
/// the row in %r10 and %rd10.
std::string fillShared() {
  return loadWords(0, 5, 0) + R"(
  mov.u32 %r10, smem;
  add.u32 %r10, %r10, %r0;
  cvt.u64.u32 %rd10, %r10;
  cvta.shared.u64 %rd10, %rd10;
  st.shared.v4.b32 [%r10], {%r1,%r2,%r3,%r4};
  bar.sync 0;
)";
}

using Expected = uint32_t (*)(const Image &, unsigned thread, unsigned reg);

void expectLoad(const std::string &instruction, unsigned count,
                Expected expected) {
  Image image(count);
  KernelResult r = runKernel(fillShared() + instruction + storeWords(20, count),
                             image.words(), 32 * count, 32, false, "sm_100a");
  ASSERT_EQ(r.error, "") << instruction;
  ASSERT_TRUE(r.report.clean()) << instruction << r.report.text();
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned reg = 0; reg < count; ++reg)
      ASSERT_EQ(r.out[t * count + reg], expected(image, t, reg))
          << instruction << " thread " << t << " register " << reg;
}

uint32_t transposed(const Image &m, unsigned t, unsigned reg) {
  auto half = [&](unsigned row) {
    return uint32_t(m.bytes[8 * reg + row][t / 4 * 2] |
                    m.bytes[8 * reg + row][t / 4 * 2 + 1] << 8);
  };
  return half(t % 4 * 2) | half(t % 4 * 2 + 1) << 16;
}
// A thread receives rows 4 q to 4 q + 3 of columns g and g + 8.
uint32_t transposed8(const Image &m, unsigned t, unsigned reg) {
  unsigned row = reg / 2 * 16 + t % 4 * 4 + reg % 2 * 2, column = t / 4;
  return m.bytes[row][column] | m.bytes[row + 1][column] << 8 |
         m.bytes[row][column + 8] << 16 |
         uint32_t(m.bytes[row + 1][column + 8]) << 24;
}
template <unsigned bits>
uint8_t element(const Image &m, unsigned row, unsigned column) {
  unsigned code = 0;
  for (unsigned b = 0; b < bits; ++b) {
    unsigned at = column * bits + b;
    code |= unsigned(m.bytes[row][at / 8] >> at % 8 & 1) << b;
  }
  return uint8_t(code);
}
template <unsigned bits>
uint32_t unpacked(const Image &m, unsigned t, unsigned reg) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= uint32_t(element<bits>(m, 8 * reg + t / 4, t % 4 * 4 + i))
             << 8 * i;
  return value;
}
uint32_t transposedSixBits(const Image &m, unsigned t, unsigned reg) {
  unsigned row = t % 4 * 4 + reg % 2 * 2, column = t / 4;
  return element<6>(m, row, column) | element<6>(m, row + 1, column) << 8 |
         element<6>(m, row, column + 8) << 16 |
         uint32_t(element<6>(m, row + 1, column + 8)) << 24;
}

TEST(MatrixMove, Loads) {
  // The destination may overlap the address register.
  expectLoad("mov.u32 %r20, %r10; ldmatrix.sync.aligned.x2.trans.m8n8.shared"
             "::cta.b16 {%r20,%r21}, [%r20];",
             2, transposed);
  expectLoad("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r20,%r21}, "
             "[%r10];",
             2, transposed8);
  expectLoad("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 "
             "{%r20,%r21,%r22,%r23}, [%r10];",
             4, transposed8);
  expectLoad("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 "
             "{%r20,%r21,%r22,%r23}, [%r10];",
             4, unpacked<4>);
  expectLoad("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r20}, "
             "[%r10];",
             1, unpacked<6>);
  expectLoad("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 "
             "{%r20,%r21}, [%r10];",
             2, transposedSixBits);
}

/// Fills registers with the words of the rows, stores them with `instruction`,
/// and compares shared memory with `expected`.
void expectStore(const std::string &instruction, unsigned count,
                 Expected expected) {
  Image image(40 + count);
  KernelResult r = runKernel(fillShared() + instruction + R"(
  bar.sync 0;
  ld.shared.v4.b32 {%r20,%r21,%r22,%r23}, [%r10];
)" + storeWords(20, 4),
                             image.words(), 32 * 4, 32, false, "sm_100a");
  ASSERT_EQ(r.error, "") << instruction;
  ASSERT_TRUE(r.report.clean()) << instruction << r.report.text();
  // Loading the result must return the stored registers.
  Image after = image;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned byte = 0; byte < rowBytes; ++byte)
      after.bytes[row][byte] =
          uint8_t(r.out[row * 4 + byte / 4] >> byte % 4 * 8);
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned reg = 0; reg < count; ++reg)
      ASSERT_EQ(expected(after, t, reg), image.word(t, 4 * reg))
          << instruction << " thread " << t << " register " << reg;
  for (unsigned row = 8 * count; row < rows; ++row)
    ASSERT_EQ(std::vector<uint8_t>(after.bytes[row], after.bytes[row] + 16),
              std::vector<uint8_t>(image.bytes[row], image.bytes[row] + 16));
}

uint32_t stored8(const Image &m, unsigned t, unsigned reg) {
  unsigned row = reg * 8 + t % 4 * 2, column = t / 4;
  return m.bytes[row][column] | m.bytes[row + 1][column] << 8 |
         m.bytes[row][column + 8] << 16 |
         uint32_t(m.bytes[row + 1][column + 8]) << 24;
}

TEST(MatrixMove, Stores) {
  expectStore("stmatrix.sync.aligned.x2.trans.m8n8.b16 [%rd10], {%r1,%r2};", 2,
              transposed);
  expectStore("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r10], {%r1};",
              1, stored8);
  expectStore("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%r10], "
              "{%r1,%r2,%r3,%r4};",
              4, stored8);
}

void expectFinding(const std::string &body, FindingKind kind,
                   const std::string &message, unsigned threads = 32) {
  KernelResult r = runKernel(body, {0}, 1, threads, false, "sm_100a");
  ASSERT_EQ(r.error, "") << body;
  ASSERT_EQ(r.report.findings.size(), 1u) << r.report.text();
  EXPECT_EQ(r.report.findings[0].kind, kind) << r.report.text();
  EXPECT_NE(r.report.findings[0].message.find(message), std::string::npos)
      << r.report.text();
}

TEST(MatrixMove, Reports) {
  std::string load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0];";
  expectFinding("mov.u32 %r0, smem; add.u32 %r0, %r0, 8;" + load,
                FindingKind::Misaligned, "not aligned");
  expectFinding("mov.u32 %r0, 0xF00000;" + load, FindingKind::OutOfBounds,
                "out of bounds");
  expectFinding("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%in];",
                FindingKind::OutOfBounds,
                "ldmatrix needs an address in shared memory");
  expectFinding("mov.u32 %r0, smem;" + load + "red.shared.add.u32 [%r0], %r1;",
                FindingKind::UninitShared, "which has not been written");
  expectFinding("mov.u32 %r0, smem;" + load, FindingKind::IllegalInstruction,
                "needs all 32 threads", 16);
  // Invalid forms.
  for (const char *text : {
           "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 "
           "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%r0];",
           "ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r1,%r2}, [%r0];",
           "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r0];",
           "ldmatrix.aligned.m8n8.x1.shared.b16 {%r1}, [%r0];",
           "ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%rd0];",
           "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 {%r1}, [%r0];",
           "stmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 [%r0], {%r1};",
           "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16 {%r1}, [%r0];",
           "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r0], {%r1};",
           "stmatrix.sync.aligned.m8n8.x1.b4x16_p64.shared.b16 [%r0], {%r1};",
           "movmatrix.sync.aligned.m8n8.b16 %r0, %r1;",
       })
    expectFinding(text, FindingKind::Unsupported, "unsupported instruction");
}

} // namespace
