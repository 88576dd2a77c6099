//===- WgmmaTest.cpp - Cooperation of the warps of a warpgroup ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other tests compare the results of wgmma.mma_async with hardware. These tests
// check that four warps execute a single operation.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mx::sim;

/// Every warp clears A after its wait for the MMA. By then, the MMA must have
/// read A for all warps, including slower ones.
TEST(Wgmma, IsDoneForTheWholeWarpgroup) {
  std::string body = R"(
  .reg .pred %q; .reg .b32 %s, %w, %i; .reg .b64 %a, %b, %d; .reg .f32 %c<4>;
  mov.u32 %s, smem;
  shl.b32 %i, %r43, 2;
  add.u32 %w, %s, %i;
  mov.u32 %i, 0x3F803F80;
  st.shared.u32 [%w], %i;
  st.shared.u32 [%w+512], %i;
  st.shared.u32 [%w+1024], %i;
  st.shared.u32 [%w+1536], %i;
  st.shared.u32 [%w+2048], %i;
  fence.proxy.async;
  bar.sync 0;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %d, %s;
  or.b64 %a, %d, 0x1000080000;
  add.u64 %b, %a, 128;
  wgmma.fence.sync.aligned;
  setp.ne.u32 %q, %s, %s;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
    {%c0, %c1, %c2, %c3}, %a, %b, %q, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mov.u32 %i, 0;
  st.shared.u32 [%w], %i;
  st.shared.u32 [%w+512], %i;
  st.shared.u32 [%w+1024], %i;
  st.shared.u32 [%w+1536], %i;
  bar.warp.sync -1;
  add.f32 %c0, %c0, %c3;
  mov.b32 %i, %c0;
  cvt.u64.u32 %rd0, %i;
)";
  PtxResult result =
      runPtx(body, {std::vector<uint64_t>(128)}, 128, {}, "sm_90a");
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.report.text(), "");
  for (unsigned k = 0; k < 128; ++k) {
    float value;
    std::memcpy(&value, &result.out[k], 4);
    EXPECT_EQ(value, 32.0f) << k;
  }
}
