//===- MmaSyncTest.cpp - mma.sync beside the conformance suite ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/Conformance compares every shape and type with an H200.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <cfenv>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

/// Zero products leave C, whose f16 elements belong to other threads than the
/// f32 elements of D. Layouts from the figures of "Matrix Fragments for
/// mma.m8n8k4 with .f16".
TEST(MmaSync, M8N8K4WidensAccumulators) {
  std::vector<uint32_t> in(32 * 4);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i)
      // The f16 codes from 0x4000 belong to different numbers.
      in[lane * 4 + i / 2] |= (0x4000 + lane * 8 + i) << i % 2 * 16;
  KernelResult r =
      runKernel(loadWords(4, 4, 0) +
                    "mov.b32 %r0, 0;\n"
                    "mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f16 " +
                    registers(20, 8) + ",{%r0,%r0},{%r0,%r0}," +
                    registers(4, 4) + ";\n" + storeWords(20, 8),
                in, 32 * 8, 32);
  ASSERT_EQ(r.error, "");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      unsigned row = (lane & 1) + (i & 2);
      unsigned column = (i & 4) + (lane & 2) + (i & 1);
      EXPECT_EQ(asFloat(r.out[lane * 8 + i]),
                f16(0x4000 + (lane / 4 * 4 + row) * 8 + column))
          << "lane " << lane << " element " << i;
    }
}

/// All elements of a matrix are equal, so each thread computes the same chain.
TEST(MmaSync, F64RoundsEachMultiplyAdd) {
  struct {
    const char *text;
    unsigned numA, numB, k;
    int rounding;
  } const rows[] = {
      {"m16n8k4.row.col.f64.f64.f64.f64.rn", 2, 1, 4, FE_TONEAREST},
      {"m16n8k8.row.col.f64.f64.f64.f64.rz", 4, 2, 8, FE_TOWARDZERO},
      {"m16n8k16.row.col.rm.f64.f64.f64.f64", 8, 4, 16, FE_DOWNWARD},
      {"m16n8k16.row.col.f64.f64.f64.f64.rp", 8, 4, 16, FE_UPWARD},
  };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const auto &row : rows)
    for (unsigned round = 0; round < 8; ++round) {
      const double values[] = {normal(random), normal(random), normal(random)};
      std::vector<uint32_t> in(6);
      std::memcpy(in.data(), values, sizeof values);
      auto list = [](const char *name, unsigned count) {
        std::string text;
        for (unsigned i = 0; i < count; ++i)
          text += (i ? "," : "{") + std::string(name);
        return text + "}";
      };
      KernelResult r =
          runKernel("ld.global.b64 %rd0, [%in]; ld.global.b64 %rd1, [%in+8];"
                    "ld.global.b64 %rd2, [%in+16];\nmma.sync.aligned." +
                        std::string(row.text) + " {%rd3,%rd4,%rd5,%rd6}," +
                        list("%rd0", row.numA) + "," + list("%rd1", row.numB) +
                        "," + list("%rd2", 4) +
                        ";\nmov.b64 {%r0,%r1}, %rd3;\n" + storeWords(0, 2),
                    in, 64, 32);
      ASSERT_EQ(r.error, "") << row.text;
      ASSERT_TRUE(r.report.clean()) << r.report.text();
      double found;
      std::memcpy(&found, r.out.data(), sizeof found);
      volatile double sum = values[2];
      std::fesetround(row.rounding);
      for (unsigned k = 0; k < row.k; ++k)
        sum = std::fma(values[0], values[1], sum);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(found, sum) << row.text;
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
