//===- SystemCallTest.cpp - printf and assertions of kernels --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares printed text with the host's printf for the same arguments.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

/// Returns the bytes of a text and its terminator, as a PTX initializer.
std::string bytes(const std::string &text) {
  std::string list;
  for (char c : text)
    list += std::to_string(unsigned(c) & 0xFF) + ", ";
  return "[" + std::to_string(text.size() + 1) + "] = {" + list + "0}";
}

struct Outcome {
  LaunchReport report;
  std::string out, err;
};

Outcome run(const std::string &ptx, Dim3 block = {1, 1, 1}) {
  Outcome result;
  DeviceMemory memory;
  LaunchConfig config;
  config.block = block;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::string error;
  result.report = launchText(ptx, memory, config, error);
  EXPECT_EQ(error, "");
  fflush(stdout);
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

/// Returns a kernel that runs `stores` to fill its frame and prints the values.
std::string kernel(const std::string &format, const std::string &stores) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 "
         "a);\n"
         ".global .align 1 .b8 text" +
         bytes("word") + ";\n.global .align 1 .b8 format" + bytes(format) +
         ";\n.visible .entry k() {\n"
         ".local .align 8 .b8 frame[64];\n"
         ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<2>;\n"
         "mov.u32 %r1, %tid.x;\nmov.u64 %rd1, frame;\n"
         "cvta.local.u64 %rd2, %rd1;\nmov.u64 %rd3, text;\n"
         "cvta.global.u64 %rd4, %rd3;\n" +
         stores +
         "{ .param .b64 p0; .param .b64 p1; .param .b32 q;\n"
         "mov.b64 %rd5, format;\ncvta.global.u64 %rd6, %rd5;\n"
         "st.param.b64 [p0], %rd6;\nst.param.b64 [p1], %rd2;\n"
         "call.uni (q), vprintf, (p0, p1);\n"
         "ld.param.b32 %r2, [q];\n}\n"
         "setp.gt.u32 %p1, %r2, 9;\n@%p1 trap;\nret;\n}\n";
}

template <typename... T>
std::string printed(const char *format, T... values) {
  char text[512];
  snprintf(text, sizeof text, format, values...);
  return text;
}

TEST(SystemCalls, PrintsAsTheHostDoes) {
  const struct {
    const char *format;
    std::string stores, expected;
  } cases[] = {
      {"plain %% text\n", "", "plain % text\n"},
      {"<%d|%u|%x>",
       "st.local.u32 [%rd1], -5; st.local.u32 [%rd1+4], -5;"
       " st.local.u32 [%rd1+8], 255;",
       printed("<%d|%u|%x>", -5, unsigned(-5), 255)},
      // Each value is aligned to its size.
      {"<%d|%lld|%c|%f>",
       "st.local.u32 [%rd1], 1; st.local.u64 [%rd1+8], -1; "
       "st.local.u32 [%rd1+16], 65; st.local.f64 [%rd1+24], "
       "0d4004000000000000;",
       printed("<%d|%lld|%c|%f>", 1, -1ll, 65, 2.5)},
      {"<%-8.3f|%+08.2e|%#lx|%5s|%.2s|%-6s>",
       "st.local.f64 [%rd1], 0d4004000000000000; st.local.f64 [%rd1+8], "
       "0d4004000000000000; st.local.u64 [%rd1+16], 4096; st.local.u64 "
       "[%rd1+24], %rd4; st.local.u64 [%rd1+32], %rd4; st.local.u64 [%rd1+40], "
       "%rd4;",
       printed("<%-8.3f|%+08.2e|%#lx|%5s|%.2s|%-6s>", 2.5, 2.5, 4096l, "word",
               "word", "word")},
      {"<%*d|%.*d>",
       "st.local.u32 [%rd1], 6; st.local.u32 [%rd1+4], 42; st.local.u32 "
       "[%rd1+8], 4; st.local.u32 [%rd1+12], 42;",
       printed("<%*d|%.*d>", 6, 42, 4, 42)},
      {"<%hhd|%hd|%zu|%jd>",
       "st.local.u32 [%rd1], 7; st.local.u32 [%rd1+4], 8; st.local.u64 "
       "[%rd1+8], 9; st.local.u64 [%rd1+16], 10;",
       "<7|8|9|10>"},
      {"%y %", "", "%y %"},
  };
  for (const auto &entry : cases) {
    Outcome r = run(kernel(entry.format, entry.stores));
    EXPECT_TRUE(r.report.clean()) << entry.format << "\n" << r.report.text();
    EXPECT_EQ(r.out, entry.expected) << entry.format;
  }
}

TEST(SystemCalls, PrintsLaneByLane) {
  Outcome r = run(kernel("%u ", "st.local.u32 [%rd1], %r1;"), {40, 1, 1});
  EXPECT_TRUE(r.report.clean()) << r.report.text();
  // The two warps print in any order, but their lines do not interleave.
  std::string first, second;
  for (int i = 0; i < 40; ++i)
    (i < 32 ? first : second) += std::to_string(i) + " ";
  EXPECT_TRUE(r.out == first + second || r.out == second + first) << r.out;
}

TEST(SystemCalls, RefusesBadPointers) {
  Outcome r = run(kernel("%s", "st.local.u64 [%rd1], 16;"));
  ASSERT_FALSE(r.report.clean());
  EXPECT_EQ(r.report.findings[0].kind, FindingKind::OutOfBounds);
  r = run(kernel("%999999999d", "st.local.u32 [%rd1], 1;"));
  EXPECT_TRUE(r.report.clean()) << r.report.text();
  EXPECT_LT(r.out.size(), 10000u) << "the field width exceeds memory";
}

TEST(SystemCalls, AnAssertionEndsTheLaunch) {
  std::string ptx =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, "
      ".param .b64 d, .param .b64 e);\n"
      ".global .align 1 .b8 message" +
      bytes("x > 0") + ";\n.global .align 1 .b8 file" + bytes("k.cu") +
      ";\n.global .align 1 .b8 function" + bytes("f()") +
      ";\n.visible .entry k() {\n.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred "
      "%p;\n"
      "mov.u32 %r1, %tid.y;\nsetp.eq.u32 %p, %r1, 0;\n@%p ret;\n"
      "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; "
      ".param .b64 p4;\n"
      "mov.b64 %rd1, message; cvta.global.u64 %rd1, %rd1;\n"
      "mov.b64 %rd2, file; cvta.global.u64 %rd2, %rd2;\n"
      "mov.b64 %rd3, function; cvta.global.u64 %rd3, %rd3;\n"
      "st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2;\n"
      "st.param.b32 [p2], 17; st.param.b64 [p3], %rd3;\n"
      "st.param.b64 [p4], 1;\n"
      "call.uni __assertfail, (p0, p1, p2, p3, p4);\n}\nret;\n}\n";
  Outcome r = run(ptx, {2, 2, 1});
  ASSERT_EQ(r.report.status, LaunchStatus::Failed);
  EXPECT_EQ(r.report.findings[0].kind, FindingKind::Trap);
  EXPECT_EQ(r.report.findings[0].message,
            "assertion 'x > 0' failed at k.cu:17");
  EXPECT_EQ(
      r.err,
      "k.cu:17: f(): block: [0,0,0], thread: [0,1,0] Assertion `x > 0` "
      "failed.\nk.cu:17: f(): block: [0,0,0], thread: [1,1,0] Assertion `x > "
      "0` failed.\n");
}

TEST(SystemCalls, WrongArgumentsAreUnsupported) {
  std::string ptx = kernel("x", "");
  size_t at = ptx.find("call.uni (q), vprintf, (p0, p1)");
  Outcome r = run(ptx.replace(at, 31, "call.uni (q), vprintf, (p0)"));
  ASSERT_EQ(r.report.status, LaunchStatus::BadInput);
  EXPECT_NE(r.report.text().find("'vprintf' expects 2 arguments and a result"),
            std::string::npos)
      << r.report.text();
}

} // namespace
