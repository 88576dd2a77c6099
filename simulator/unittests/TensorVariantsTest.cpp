//===- TensorVariantsTest.cpp - Variants of tcgen05.mma -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that operands of .sp, .ws and .ashift reach the engine. Other tests
// cover the results of the engine. ptxas accepts all instructions for sm_100a.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

/// Returns a kernel that allocates 128 columns of tensor memory and fills
/// shared memory with ones in f16. The kernel writes the lane number in f16 to
/// columns 64 to 71 and `metadata` to columns 80 and 81, runs `mma`, and stores
/// the first columns of D.
std::string kernel(const std::string &mma, const char *metadata) {
  return std::string(R"(
  .shared .align 16 .b8 address[16];
  .shared .align 8 .b8 barrier[8];
  mov.u32 %r0, address;
  mov.u32 %r1, barrier;
  setp.lt.u32 %p1, %thread, 32;
  setp.eq.u32 %p2, %thread, 0;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 128;
  @%p2 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p2 fence.mbarrier_init.release.cluster;
  mov.u32 %r2, smem; shl.b32 %r3, %thread, 7; add.u32 %r2, %r2, %r3;
  mov.b32 %r3, 0x3C003C00;
)") +
         [] {
           std::string stores;
           for (unsigned i = 0; i < 128; i += 16)
             stores += "st.shared.v4.b32 [%r2+" + std::to_string(i) +
                       "], {%r3,%r3,%r3,%r3};\n";
           return stores;
         }() +
         R"(
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r4, [%r0];
  and.b32 %r5, %thread, 0x60; shl.b32 %r5, %r5, 16; add.u32 %r5, %r5, %r4;
  cvt.rn.f16.u32 %h0, %thread; mov.b32 %r6, {%h0, %h0};
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r5+64],
    {%r6,%r6,%r6,%r6,%r6,%r6,%r6,%r6};
  mov.b32 %r7, )" +
         metadata + R"(;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r5+80], {%r7,%r7};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  mov.u32 %r8, smem; shr.u32 %r8, %r8, 4; cvt.u64.u32 %rd1, %r8;
  // 8 rows each 128 bytes, 16 columns of 16 bytes each 1024.
  or.b64 %rd1, %rd1, 0x0000400800400000;
  setp.ne.u32 %p3, %r4, %r4;
  add.u32 %r9, %r4, 64; add.u32 %r10, %r4, 80;
  @%p2 bra ISSUE;
  bra WAIT;
ISSUE:
)" + mma +
         R"(
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], 0;
  @!%p4 bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x8.b32
    {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, [%r5];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 128;
)" + storeWords(20, 8);
}

KernelResult run(const std::string &mma, const char *metadata = "0x44444444") {
  return runKernel(kernel(mma, metadata), {0}, 128 * 8, 128, false, "sm_100a");
}

// f16 inputs, f32 D, M = 128, N = 64.
const std::string idesc = "mov.b32 %r11, 0x08100010;\n";
const std::string sparseIdesc = "mov.b32 %r11, 0x08100014;\n";

TEST(TensorVariants, Sparse) {
  // A row of A stores 16 of 32 elements, all equal to 1.
  for (const char *text :
       {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r4], %rd1, %rd1, [%r10], "
        "%r11, %p3;",
        "tcgen05.mma.sp.cta_group::1.kind::f16.collector::a::discard [%r4], "
        "%rd1, %rd1, [%r10], %r11, {%r12,%r12,%r12,%r12}, %p3;"}) {
    KernelResult r = run(sparseIdesc + "mov.b32 %r12, 0;\n" + text);
    ASSERT_EQ(r.error, "");
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    for (uint32_t word : r.out)
      ASSERT_EQ(asFloat(word), 16.0f) << text;
  }
  KernelResult r = run(sparseIdesc + "tcgen05.mma.sp.cta_group::1.kind::f16 "
                                     "[%r4], %rd1, %rd1, [%r10], %r11, %p3;",
                       "0x44444044");
  ASSERT_EQ(r.report.findings.size(), 1u) << r.report.text();
  EXPECT_NE(r.report.findings[0].message.find("code 0 of row 0, elements 8 to "
                                              "11"),
            std::string::npos)
      << r.report.text();
}

TEST(TensorVariants, WeightStationary) {
  // The mask in %rd2, if enabled, uses three columns and then skips four.
  std::string mma = "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b2::fill "
                    "[%r4], %rd1, %rd1, %r11, %p3";
  KernelResult r = run(idesc + mma + ";");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint32_t word : r.out)
    ASSERT_EQ(asFloat(word), 16.0f);
  r = run(idesc + "mov.b64 %rd2, 0x0002038000000000;\n" + mma + ", %rd2;");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (size_t i = 0; i < r.out.size(); ++i)
    ASSERT_EQ(asFloat(r.out[i]), i % 8 % 7 < 3 ? 16.0f : 0.0f) << i;
  r = run(sparseIdesc + "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r4], %rd1, "
                        "%rd1, [%r10], %r11, %p3;");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint32_t word : r.out)
    ASSERT_EQ(asFloat(word), 16.0f);
}

TEST(TensorVariants, ShiftedA) {
  for (bool shift : {false, true}) {
    KernelResult r =
        run(idesc + "tcgen05.mma.cta_group::1.kind::f16" +
            (shift ? ".ashift" : "") + " [%r4], [%r9], %rd1, %r11, %p3;");
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    for (unsigned t = 0; t < 128; ++t)
      ASSERT_EQ(asFloat(r.out[8 * t]),
                16.0f * float(shift && t < 127 ? t + 1 : t));
  }
}

} // namespace
