//===- WgmmaFormsTest.cpp - wgmma.mma_async beside the conformance suite --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/Conformance compares types, shapes and layouts with an H200, except b1.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include <gtest/gtest.h>
#include <random>

using namespace mx::sim;

namespace {

const char *commit = "wgmma.commit_group.sync.aligned;\n";
std::string wait(unsigned left) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(left) + ";\n";
}

/// The operands have no swizzle: a core matrix contains 16 bytes of 8 rows.
TEST(WgmmaForms, B1CountsCommonBits) {
  std::mt19937 random(1);
  uint32_t a[64][8], b[8][8];
  for (auto &row : a)
    for (uint32_t &word : row)
      word = random();
  for (auto &row : b)
    for (uint32_t &word : row)
      word = random();
  // A thread's accumulators and its fragment of A, then both operands.
  std::vector<uint32_t> in;
  for (unsigned t = 0; t < 128; ++t) {
    for (unsigned i = 0; i < 4; ++i)
      in.push_back(t * 4 + i);
    for (unsigned reg = 0; reg < 4; ++reg)
      in.push_back(
          a[t / 32 * 16 + t % 32 / 4 + reg % 2 * 8][reg / 2 * 4 + t % 4]);
  }
  for (unsigned i = 0; i < 576; ++i) {
    unsigned row = i / 64 * 8 + i / 4 % 8, word = i / 32 % 2 * 4 + i % 4;
    in.push_back(row < 64 ? a[row][word] : b[row - 64][word]);
  }
  in.resize(in.size() + 64);
  for (bool aInRegisters : {false, true}) {
    std::string body = loadWords(0, 8, 0) + loadWords(8, 5, 1024) + R"(
  mov.u32 %r20, smem; mad.lo.u32 %r21, %thread, 20, %r20;
)";
    for (unsigned i = 0; i < 5; ++i)
      body += "st.shared.b32 [%r21+" + std::to_string(4 * i) + "], %r" +
              std::to_string(8 + i) + ";\n";
    body += R"(
  fence.proxy.async.shared::cta; bar.sync 0;
  shr.u32 %r20, %r20, 4; cvt.u64.u32 %rd1, %r20;
  or.b64 %rd1, %rd1, 0x0000001000080000; add.u64 %rd2, %rd1, 128;
  setp.eq.u32 %p1, 0, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc )" +
            registers(0, 4) + ", " + (aInRegisters ? registers(4, 4) : "%rd1") +
            ", %rd2, %p1;\n" + commit + wait(0) + storeWords(0, 4);
    KernelResult r = runKernel(body, in, 512, 128);
    ASSERT_EQ(r.error, "");
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned i = 0; i < 4; ++i) {
        unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8;
        unsigned n = t % 4 * 2 + i % 2, count = t * 4 + i;
        for (unsigned word = 0; word < 8; ++word)
          count += __builtin_popcount(a[row][word] & b[n][word]);
        EXPECT_EQ(r.out[t * 4 + i], count) << row << "," << n;
      }
  }
}

/// Runs `middle`, in which MMA stands for an MMA of zeros with accumulators in
/// %r0 to %r3, A in shared memory or in %r32 to %r35, and the descriptor %rd5.
LaunchReport runMiddle(const std::string &middle, bool aInRegisters = false) {
  std::string text = loadWords(0, 4, 0) + loadWords(32, 4, 0) + R"(
  mov.u32 %r380, smem; mad.lo.u32 %r381, %thread, 32, %r380; mov.u32 %r382, 0;
  st.shared.v4.b32 [%r381], {%r382,%r382,%r382,%r382};
  st.shared.v4.b32 [%r381+16], {%r382,%r382,%r382,%r382};
  fence.proxy.async.shared::cta; bar.sync 0;
  setp.eq.u32 %p1, 0, 0;
  shr.u32 %r380, %r380, 4; cvt.u64.u32 %rd5, %r380;
  or.b64 %rd5, %rd5, 0x0000001000080000;
  wgmma.fence.sync.aligned;
)" + middle;
  const std::string mma =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1,%r2,%r3}, " +
      std::string(aInRegisters ? "{%r32,%r33,%r34,%r35}, %rd5, %p1, 1, 1, 0;\n"
                               : "%rd5, %rd5, %p1, 1, 1, 0, 0;\n");
  for (size_t at; (at = text.find("MMA")) != std::string::npos;)
    text.replace(at, 3, mma);
  KernelResult r =
      runKernel(text + storeWords(0, 1), std::vector<uint32_t>(512), 128, 128);
  EXPECT_EQ(r.error, "");
  return r.report;
}

TEST(WgmmaRegisters, MayBeUsedAfterTheWait) {
  std::string mma = "MMA", mmas = mma + mma;
  // MMAs may be chained on an accumulator, and other registers may be moved
  // while MMAs are in flight.
  EXPECT_TRUE(runMiddle(mmas + commit + wait(0)).clean());
  EXPECT_TRUE(runMiddle(mmas + commit + "mov.b32 %r350, %r0;" + wait(0) +
                        "add.u32 %r350, %r350, 1;")
                  .clean());
  // Registers of one batch may be used while another batch still runs.
  EXPECT_TRUE(
      runMiddle(mma + commit + wait(0) + "mov.b32 %r32, 0;", true).clean());
}

TEST(WgmmaRegisters, MayNotBeUsedBefore) {
  std::string mma = "MMA";
  auto expect = [&](const std::string &middle, const std::string &message,
                    bool aInRegisters = false) {
    LaunchReport report = runMiddle(middle, aInRegisters);
    ASSERT_FALSE(report.findings.empty()) << middle;
    EXPECT_EQ(report.findings[0].kind, FindingKind::LoadBeforeWait);
    EXPECT_EQ(report.findings[0].message, message);
  };
  const std::string read =
      "an accumulator of wgmma.mma_async is read before wgmma.wait_group";
  expect(mma + commit + "add.u32 %r300, %r2, 1;" + wait(0), read);
  // A wait without a commit, or for too few batches, does not suffice.
  expect(mma + wait(0) + "add.u32 %r300, %r2, 1;" + commit + wait(0), read);
  expect(mma + commit + wait(1) + "add.u32 %r300, %r2, 1;" + wait(0), read);
  expect(mma + commit + "mov.b32 %r2, 0;" + wait(0),
         "an accumulator of wgmma.mma_async is written before "
         "wgmma.wait_group");
  expect(mma + commit + "mov.b32 %r32, 0;" + wait(0),
         "a register of A of wgmma.mma_async is written before "
         "wgmma.wait_group",
         true);
}

TEST(WgmmaDescriptor, IsChecked) {
  LaunchReport report = runMiddle("mov.b64 %rd5, 0x4000004000003FC0;MMA" +
                                  std::string(commit) + wait(0));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_NE(report.findings[0].message.find("beyond the"), std::string::npos)
      << report.text();
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
