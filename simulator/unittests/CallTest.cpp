//===- CallTest.cpp - Calls, recursion, function pointers, stack ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes take different paths through functions and must return with their own
// results.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

const char kFunctions[] = R"(
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }
.func (.param .b32 out) fib(.param .b32 in)
{
  .reg .pred %p; .reg .b32 %r<8>;
  ld.param.u32 %r1, [in];
  setp.lt.u32 %p, %r1, 2;
  @%p bra SMALL;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r3, [b]; }
  sub.u32 %r2, %r1, 2;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r4, [b]; }
  add.u32 %r1, %r3, %r4;
SMALL:
  st.param.b32 [out], %r1;
  ret;
}
.func (.reg .u32 r) factorial(.reg .u32 n)
{
  .reg .pred %p; .reg .b32 %s;
  mov.u32 r, 1;
  setp.eq.u32 %p, n, 0;
  @%p ret;
  sub.u32 %s, n, 1;
  call (r), factorial, (%s);
  mul.lo.u32 r, r, n;
  ret;
}
.func (.param .b32 o) plus(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<3>; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b];
  add.u32 %r0, %r0, %r1; st.param.b32 [o], %r0; ret; }
.func (.param .b32 o) minus(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<3>; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b];
  sub.u32 %r0, %r0, %r1; st.param.b32 [o], %r0; ret; }
.func (.param .b32 o) times(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<3>; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b];
  mul.lo.u32 %r0, %r0, %r1; st.param.b32 [o], %r0; ret; }
.func even(.param .b64 to, .param .b32 n);
.func odd(.param .b64 to, .param .b32 n)
{ .reg .pred %p; .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [to]; ld.param.u32 %r, [n];
  setp.eq.u32 %p, %r, 0; @%p st.u32 [%rd], 0; @%p ret;
  sub.u32 %r, %r, 1;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd; st.param.b32 [b], %r;
    call even, (a, b); } ret; }
.func even(.param .b64 to, .param .b32 n)
{ .reg .pred %p; .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [to]; ld.param.u32 %r, [n];
  setp.eq.u32 %p, %r, 0; @%p st.u32 [%rd], 1; @%p ret;
  sub.u32 %r, %r, 1;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd; st.param.b32 [b], %r;
    call odd, (a, b); } ret; }
.global .u64 table[3] = {plus, minus, times};
.global .u64 pointer = generic(table) + 8;
)";

std::vector<std::vector<uint64_t>> lanes() {
  std::vector<std::vector<uint64_t>> in(3, std::vector<uint64_t>(128));
  for (uint64_t k = 0; k < 128; ++k) {
    in[0][k] = k;
    in[1][k] = k * 7 % 13;
    in[2][k] = k * 5 % 3;
  }
  return in;
}

template <class F>
void expectAll(const char *body, F &&host) {
  auto in = lanes();
  PtxResult r = runPtx(body, in, 64, kFunctions);
  ASSERT_EQ(r.error, "");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (size_t k = 0; k < r.out.size(); ++k)
    ASSERT_EQ(r.out[k], uint64_t(host(uint32_t(in[0][k]), uint32_t(in[1][k]),
                                      uint32_t(in[2][k]))))
        << "thread " << k;
}

uint32_t fib(uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

TEST(Call, RegistersAsParameters) {
  expectAll("call (%r4), twice, (%r1); call (%r4), twice, (%r4);"
            "call (%r5), twice, (21); add.u32 %r4, %r4, %r5;"
            "cvt.u64.u32 %rd0, %r4;",
            [](uint32_t a, uint32_t, uint32_t) { return 4 * a + 42; });
}

TEST(Call, UnderAPredicate) {
  expectAll("setp.eq.u32 %p1, %r3, 1; mov.u32 %r4, 5;"
            "@%p1 call (%r4), twice, (%r1);"
            "@!%p1 call (%r4), factorial, (%r3); cvt.u64.u32 %rd0, %r4;",
            [](uint32_t a, uint32_t, uint32_t c) {
              return c == 1 ? 2 * a : c == 2 ? 2 : 1;
            });
}

TEST(Call, Recursion) {
  expectAll("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;"
            "call (b), fib, (a); ld.param.b32 %r4, [b]; }"
            "call (%r5), factorial, (%r2);"
            "mov.b64 %rd0, {%r4, %r5};",
            [](uint32_t, uint32_t b, uint32_t) {
              uint32_t f = 1;
              for (uint32_t k = 2; k <= b; ++k)
                f *= k;
              return uint64_t(f) << 32 | fib(b);
            });
}

/// The result is returned through a pointer into the caller's frame.
TEST(Call, MutualRecursionAndLocalMemory) {
  expectAll("{ .local .align 4 .b32 cell; .param .b64 a; .param .b32 b;"
            "cvta.local.u64 %rd4, cell; st.param.b64 [a], %rd4;"
            "st.param.b32 [b], %r2; call even, (a, b);"
            "ld.local.u32 %r4, [cell]; cvt.u64.u32 %rd0, %r4; }",
            [](uint32_t, uint32_t b, uint32_t) { return b % 2 == 0; });
}

TEST(Call, ThroughPointers) {
  expectAll(R"({ .param .b32 a; .param .b32 b; .param .b32 c;
    mov.u64 %rd4, table; mad.wide.u32 %rd4, %r3, 8, %rd4;
    ld.global.u64 %rd5, [%rd4];
    st.param.b32 [a], %r1; st.param.b32 [b], %r2;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
    call (c), %rd5, (a, b), proto;
    ld.param.b32 %r4, [c]; ld.global.u64 %rd6, [pointer];
    ld.u64 %rd7, [%rd6]; call (c), %rd7, (a, b), proto;
    ld.param.b32 %r5, [c]; mov.b64 %rd0, {%r4, %r5}; })",
            [](uint32_t a, uint32_t b, uint32_t c) {
              uint32_t r = c == 0 ? a + b : c == 1 ? a - b : a * b;
              return uint64_t(a - b) << 32 | r;
            });
}

TEST(Call, AddressIsNotAFunction) {
  auto in = lanes();
  PtxResult r = runPtx("{ .param .b32 a; st.param.b32 [a], %r1;"
                       "proto: .callprototype _ (.param .b32 _);"
                       "call %rd1, (a), proto; }",
                       in, 64, kFunctions);
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.report.exitStatus(), 1);
  EXPECT_NE(r.report.text().find("not the address of a function"),
            std::string::npos);
}

TEST(Call, EndlessRecursionOverflowsTheStack) {
  auto in = lanes();
  PtxResult r =
      runPtx("call again;", in, 64, ".func again { call again; ret; }\n");
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.report.exitStatus(), 1);
  EXPECT_NE(r.report.text().find("stack overflow"), std::string::npos);
}

TEST(Call, Alloca) {
  expectAll(
      "stacksave.u64 %rd4; add.u64 %rd5, %rd2, 4; mul.lo.u64 %rd5, %rd5, 4;"
      "alloca.u64 %rd6, %rd5, 16; alloca.u64 %rd7, 16;"
      "st.local.u32 [%rd6+4], %r1; st.local.u32 [%rd7], %r2;"
      "ld.local.u32 %r4, [%rd6+4]; ld.local.u32 %r5, [%rd7];"
      "stackrestore.u64 %rd4; alloca.u64 %rd8, 16;"
      "sub.u64 %rd8, %rd8, %rd6; and.b64 %rd9, %rd6, 15;"
      "add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd0, %r4;"
      "add.u64 %rd0, %rd0, %rd9;",
      [](uint32_t a, uint32_t b, uint32_t) { return a + b; });
}

} // namespace
