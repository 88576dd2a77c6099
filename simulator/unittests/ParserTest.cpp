//===- ParserTest.cpp - PTX in the form that compilers emit ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests scopes, declarations, calls, debug information, and invalid text.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

std::string errorOf(const std::string &text) {
  std::vector<Diagnostic> errors;
  auto m = Module::parse(moduleOf(text), "test", errors);
  return m ? "" : std::to_string(errors[0].line) + ": " + errors[0].message;
}

const char *const kEverything = R"(
.file 1 "kernel.cu", 1700000000, 4096
.extern .shared .align 1024 .b8 dyn[];
.visible .global .align 4 .u32 table[4] = {1, 0x10, 2+3*4, -1};
.global .align 8 .u64 pointer = generic(table)+8;
.func (.param .b32 func_retval0) triple(.param .b32 triple_param_0);
.global .align 8 .u64 virtuals[2] = {0, triple};
.const .align 4 .f32 pi = 0f40490FDB;
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.func (.param .b32 func_retval0) triple(.param .b32 triple_param_0)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [triple_param_0];
  mul.lo.s32 %r2, %r1, 3;
  st.param.b32 [func_retval0], %r2;
  ret;
}
.visible .entry k(
  .param .align 64 .b8 map[128],
  .param .u64 .ptr .global .align 16 p,
  .param .u16 small,
  .param .f32 scale
)
.maxntid 128, 1, 1
.minnctapersm 1
{
  .pragma "nounroll";
  .reg .pred %p<3>;
  .reg .b32 %r<9>, %x;
  .reg .b64 %rd<4>;
  .local .align 8 .b8 depot[16];
  .loc 1 12 3, function_name $L__info_string0, inlined_at 1 4 5
  mov.u32 %x, WARP_SZ;
  {
    .reg .b32 %r1;
    .reg .pred P1;
    mov.u32 %r1, 5;
LAB_WAIT:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 P1, %r1, 0;
    @P1 bra.uni LAB_WAIT;
    bra DONE;
DONE:
  }
  {
    .reg .pred P1;
LAB_WAIT:
    setp.ne.u32 P1, %x, 32;
    @P1 bra LAB_WAIT;
    bra DONE;
DONE:
  }
  { // callseq 0, 0
    .param .b32 param0;
    st.param.b32 [param0], %x;
    .param .b32 retval0;
    call.uni (retval0), triple, (param0);
    ld.param.b32 %r2, [retval0];
  } // callseq 0
  ld.global.u32 %r3, [table+8];
  add.u32 %r2, %r2, %r3;
  ld.global.u64 %rd1, [pointer];
  ld.u32 %r4, [%rd1];
  add.u32 %r2, %r2, %r4;
  mov.u64 %rd2, depot;
  cvta.local.u64 %rd2, %rd2;
  st.u32 [%rd2+4], %r2;
  ld.local.u32 %r5, [depot+4];
  ld.param.u64 %rd3, [p];
  st.global.u32 [%rd3], %r5;
  ld.const.u32 %r6, [pi];
  st.global.u32 [%rd3+4], %r6;
  ret;
}
.section .debug_str { $L__info_string0: .b8 65,66,0 { } }
)";

TEST(Parser, AcceptsCompilerOutput) {
  std::vector<Diagnostic> errors;
  auto m = Module::parse(moduleOf(kEverything), "test", errors);
  ASSERT_TRUE(m) << errors[0].line << ": " << errors[0].message;
  const KernelInfo *k = m->findKernel("k");
  ASSERT_TRUE(k);
  EXPECT_TRUE(k->unsupported.empty()) << k->unsupported[0].message;
  EXPECT_EQ(m->target(), "sm_100a");
  ASSERT_EQ(k->parameters.size(), 4u);
  EXPECT_EQ(k->parameters[1].offset, 128u);
  EXPECT_EQ(k->parameters[2].offset, 136u);
  EXPECT_EQ(k->parameters[3].offset, 140u);
  EXPECT_EQ(k->parameterBytes, 144u);
  EXPECT_EQ(k->maximumBlock[0], 128u);

  DeviceMemory memory;
  ASSERT_EQ(m->load(memory), "");
  uint64_t out = memory.alloc(8, 256, "out");
  LaunchConfig config;
  config.kernel = "k";
  config.parameters.resize(144);
  memcpy(&config.parameters[128], &out, 8);
  LaunchReport r = launch(*m, memory, config);
  ASSERT_TRUE(r.clean()) << r.text();
  uint32_t values[2];
  ASSERT_TRUE(memory.copyOut(values, out, 8));
  EXPECT_EQ(values[0], 32u * 3 + 14 + 14);
  EXPECT_EQ(values[1], 0x40490FDBu);
}

/// Instructions may use whole vector registers or single elements wherever
/// ptxas allows them. The vectors of a declared range are numbered.
TEST(Parser, AcceptsVectorRegisters) {
  PtxResult r = runPtx(R"(
    .reg .v2 .b32 v, w<3>; .reg .v4 .b16 h; .reg .v2 .b64 x;
    mov.b64 v, %rd1;                    // {low, high} of the first input
    mov.v2.b32 v, {v.y, v.x};           // as if at once
    mov.v2.b32 w2, v;
    add.u32 w2.g, w2.y, 1;
    mov.b32 w0.x, 7;
    mov.b64 h, %rd2;
    mov.b64 %rd10, {h.w, h.b, h.g, h.x}; // the quarters in reverse
    st.shared.v2.b32 [smem], w2;
    ld.shared.v2.b32 w1, [smem];
    mov.b64 x.x, w1;
    mov.v2.b64 {%rd11, x.y}, {x.r, %rd10};
    xor.b64 %rd0, %rd11, x.g;
  )",
                       {{0x1111111122222222, 5}, {0x0004000300020001, 0}}, 1);
  ASSERT_EQ(r.error, "");
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  EXPECT_EQ(r.out[0], 0x2222222311111111u ^ 0x0001000200030004u);
  EXPECT_EQ(r.out[1], (uint64_t{5 + 1} << 32));
}

TEST(Parser, ReportsInvalidText) {
  auto body = [](const std::string &text) {
    return ".entry k() {\n.reg .b32 %r<2>;\n.reg .pred %p;\n" + text + "\n}";
  };
  EXPECT_EQ(errorOf(body("add.u32 %r0, %r1, %r2;")),
            "7: unknown register '%r2'");
  EXPECT_EQ(errorOf(body("bra L;")), "7: unknown identifier 'L'");
  EXPECT_EQ(errorOf(body("L: L: ret;")), "7: redefinition of label 'L'");
  EXPECT_EQ(errorOf(body("@%r0 ret;")),
            "7: expected a predicate register, found '%r0'");
  EXPECT_EQ(errorOf(body("mov.u32 %r0, (1+2;")), "7: expected ')', found ';'");
  EXPECT_EQ(errorOf(body("mov.u32 %r0, 1/0;")),
            "7: division by zero in a constant");
  EXPECT_EQ(errorOf(".entry k() {"), "4: function 'k' has no closing brace");
  EXPECT_EQ(errorOf(".entry k(.param .u64 p {}"),
            "4: expected ',' or ')', found '{'");
  EXPECT_EQ(errorOf(".address_size 32"),
            "4: only .address_size 64 is supported, found '32'");
  for (const char *target : {"sm_52", "sm_90", "sm_103f", "sm_120", "sm_120a",
                             "sm_120f", "sm_121a", "sm_121f"})
    EXPECT_EQ(errorOf(std::string(".target ") + target), "");
  for (std::string target : {"sm_110a", "sm_122a", "sm_130", "sm_101a",
                             "sm_90f", "sm_89a", "sm_", "gfx90"})
    EXPECT_EQ(errorOf(".target " + target),
              "4: target '" + target +
                  "' is not simulated: expected sm_90a, sm_100a, sm_100f, "
                  "sm_103a, sm_103f, sm_120a, sm_120f, sm_121a, sm_121f, or "
                  "without a suffix one of these or an architecture up to "
                  "sm_100");
  EXPECT_EQ(errorOf(body(".reg .b32 %q<99999999>;")),
            "7: more than 1048576 registers");
  EXPECT_EQ(errorOf(body(".reg .v4 .b32 %q<262145>;")),
            "7: more than 1048576 registers");
  EXPECT_EQ(errorOf(body(".reg .v2 .pred q;")),
            "7: a vector register cannot contain predicates");
  EXPECT_EQ(errorOf(body(".reg .v4 .b64 q;")),
            "7: a vector register has at most 128 bits, found 4 times 64");
  EXPECT_EQ(errorOf(body(".reg .v8 .b8 q;")),
            "7: expected a register type, found 'v8'");
  EXPECT_EQ(errorOf(body(".reg .v2 .b32 q; mov.b32 %r0, q.z;")),
            "7: vector register 'q' has 2 elements, and no 'z'");
  EXPECT_EQ(errorOf(body(".reg .v2 .b64 q; ld.b32 %r0, [q];")),
            "7: expected one register as an address, found a vector");
  EXPECT_EQ(errorOf(".global .b8 x[99999999999999];"),
            "4: array of more than 64 GiB");
  EXPECT_EQ(errorOf(".entry k() {} .entry k() {}"),
            "4: redefinition of function 'k'");
  // Oversized numbers, unterminated comments and unprintable bytes are errors.
  EXPECT_EQ(errorOf(body("mov.u32 %r0, 18446744073709551615;")), "");
  EXPECT_EQ(errorOf(body("mov.u32 %r0, 18446744073709551616;")),
            "7: expected a number, found '18446744073709551616'");
  EXPECT_EQ(errorOf(body("mov.u32 %r0, 0x10000000000000000;")),
            "7: expected a number, found '0x10000000000000000'");
  EXPECT_EQ(errorOf(body("mov.u32 %r0, 08;")),
            "7: expected a number, found '08'");
  EXPECT_EQ(errorOf(body("ld.u32 %r0, [%r1-9223372036854775808];")), "");
  EXPECT_EQ(errorOf(".extern .shared .align 16 .b8 dyn[];\n" +
                    body("mov.u32 %r0, dyn+9223372036854775807;")),
            "");
  EXPECT_EQ(errorOf("/* .entry k() {}\n"),
            "4: expected a directive, found '/'");
  EXPECT_EQ(errorOf("\x93"), "4: expected a directive, found '\\x93'");
}

/// Truncated and damaged modules cause errors but no crashes.
TEST(Parser, SurvivesDamage) {
  std::string text = moduleOf(kEverything);
  for (size_t n = 0; n < text.size(); ++n) {
    std::vector<Diagnostic> errors;
    auto m = Module::parse(std::string_view(text).substr(0, n), "test", errors);
    EXPECT_TRUE(m || !errors.empty()) << n;
  }
  const char junk[] = {'\0', '{', '}', '(', '<', '[', '"', '.', ';', '9', 'x'};
  for (size_t n = 0; n < text.size(); n += 3) {
    std::string damaged = text;
    damaged[n] = junk[n % sizeof junk];
    std::vector<Diagnostic> errors;
    auto m = Module::parse(damaged, "test", errors);
    EXPECT_TRUE(m || !errors.empty()) << n;
  }
  std::string deep = ".entry k() { mov.u32 x, " + std::string(100000, '(');
  EXPECT_NE(errorOf(deep), "");
  for (const char *prefix : {"!", "-", "~", "+", "{", "[", "!-", "-!", "1+("}) {
    std::string many = ".entry k() { .reg .b32 %r; mov.b32 %r, ";
    for (int i = 0; i < 200000; ++i)
      many += prefix;
    EXPECT_NE(errorOf(many + "; }"), "") << prefix;
  }
  EXPECT_EQ(errorOf(".entry k() { .reg .b32 %r; mov.b32 %r, !!!5; }"), "");
  EXPECT_NE(errorOf(".global .b8 x[1] = " + std::string(100000, '{')), "");
}

TEST(DeviceMemory, DefaultCapacityIsLimited) {
  EXPECT_GT(DeviceMemory::defaultCapacity(), 0u);
  EXPECT_LE(DeviceMemory::defaultCapacity(), 64ull << 30);
  DeviceMemory m;
  EXPECT_EQ(m.alloc(DeviceMemory::defaultCapacity() + 1), 0u);
}

TEST(DeviceMemory, TranslatesAddresses) {
  DeviceMemory m(1 << 20);
  uint64_t a = m.alloc(100, 256, "a"), b = m.alloc(0, 256, "b");
  uint64_t c = m.alloc(65536, 1 << 20, "c");
  EXPECT_TRUE(a && b && c && a != b);
  EXPECT_EQ(c % (1 << 20), 0u);
  EXPECT_EQ(m.alloc(1 << 20), 0u) << "beyond the capacity";
  EXPECT_TRUE(m.translate(a + 96, 4));
  EXPECT_FALSE(m.translate(a + 97, 4));
  EXPECT_FALSE(m.translate(a - 1, 1));
  EXPECT_FALSE(m.translate(b, 1));
  EXPECT_FALSE(m.translate(a, ~0ull));
  EXPECT_EQ(m.describe(a + 100, 4).substr(0, 7), "4 bytes");
  EXPECT_NE(m.describe(a + 100, 4).find("0 bytes past the end of buffer 'a'"),
            std::string::npos);
  EXPECT_EQ(m.bytesInUse(), 65636u);
  EXPECT_FALSE(m.free(a + 1));
  EXPECT_TRUE(m.free(a));
  EXPECT_FALSE(m.free(a));
  EXPECT_FALSE(m.translate(a, 1));
  EXPECT_NE(m.describe(a, 1).find("that has been freed"), std::string::npos);
  uint16_t poison = 0;
  ASSERT_TRUE(m.copyOut(&poison, c, 2));
  EXPECT_EQ(poison, DeviceMemory::kPoison);
}

TEST(DeviceMemory, MapsHostMemoryAtItsOwnAddress) {
  DeviceMemory m(1 << 20);
  char host[64] = "host";
  auto at = [&](unsigned offset) { return uint64_t(uintptr_t(host)) + offset; };
  ASSERT_TRUE(m.mapHost(host + 8, 16, "h"));
  EXPECT_EQ(m.translate(at(8), 16), host + 8);
  EXPECT_FALSE(m.translate(at(7), 1));
  EXPECT_FALSE(m.translate(at(8), 17));
  EXPECT_FALSE(m.translate(at(24), 1));
  EXPECT_EQ(m.find(at(23))->name, "h");
  EXPECT_FALSE(m.find(at(24)));
  EXPECT_NE(m.describe(at(24), 4).find("0 bytes past the end of buffer 'h'"),
            std::string::npos);
  EXPECT_FALSE(m.mapHost(host + 8, 4)) << "mapped twice";
  EXPECT_FALSE(m.mapHost(host, 9)) << "the range ends mapped";
  EXPECT_FALSE(m.mapHost(host + 23, 9)) << "the range starts mapped";
  EXPECT_TRUE(m.mapHost(host, 8));
  EXPECT_TRUE(m.mapHost(host + 24, 8));
  EXPECT_FALSE(m.mapHost(nullptr, 8));
  EXPECT_FALSE(m.mapHost(reinterpret_cast<void *>(DeviceMemory::kBase - 1), 2));
  EXPECT_FALSE(m.free(at(8))) << "host memory cannot be freed";
  EXPECT_EQ(m.bytesInUse(), 0u);
  EXPECT_FALSE(m.unmapHost(host + 9));
  EXPECT_TRUE(m.unmapHost(host + 8));
  EXPECT_FALSE(m.translate(at(8), 1));
  EXPECT_TRUE(m.translate(at(24), 8));
}

} // namespace
