//===- InstructionTest.cpp - Single instructions against the host ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each row pairs an instruction with its equivalent in C++, for forms that
// test/Conformance does not compare with an H200. Operands include the limits
// of all types.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include "mxsim/tensor/NumberFormats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

using namespace mx;
using namespace mx::sim;

namespace {

using Host = std::function<uint64_t(uint64_t, uint64_t, uint64_t)>;
struct Row {
  const char *ptx;
  Host host;
};

float f(uint64_t v) { return floatFromBits(uint32_t(v)); }
uint64_t bits(float x) { return x != x ? kF32CanonicalNaN : bitsOf(x); }
int32_t s(uint64_t v) { return int32_t(v); }
uint32_t u(uint64_t v) { return uint32_t(v); }

std::vector<std::vector<uint64_t>> inputs() {
  static const uint64_t edges[] = {
      0,          1,          2,          31,         32,         33,
      63,         64,         127,        128,        255,        256,
      0x7FFF,     0x8000,     0xFFFF,     0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
      0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
      0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x43E00000, 0x43E80001, 0x477FF000,
      0x4F000000, 0xCF000000, 0x38800000};
  std::mt19937_64 rng(7);
  std::vector<std::vector<uint64_t>> in(3, std::vector<uint64_t>(4096));
  for (auto &v : in)
    for (size_t k = 0; k < v.size(); ++k) {
      uint64_t x = rng();
      if (k % 3 == 0)
        x = edges[x % std::size(edges)];
      else if (k % 3 == 1)
        x = bitsOf(float(std::ldexp(double(int64_t(x)), int(rng() % 40) - 83)));
      v[k] = x & 0xFFFFFFFFu;
    }
  return in;
}

void compare(const std::vector<Row> &rows) {
  auto in = inputs();
  for (const Row &row : rows) {
    PtxResult r = runPtx(row.ptx, in);
    ASSERT_EQ(r.error, "") << row.ptx;
    ASSERT_TRUE(r.report.clean()) << row.ptx << "\n" << r.report.text();
    unsigned wrong = 0;
    for (size_t k = 0; k < r.out.size() && wrong < 3; ++k) {
      uint64_t want = row.host(in[0][k], in[1][k], in[2][k]);
      if (r.out[k] == want)
        continue;
      ++wrong;
      ADD_FAILURE() << row.ptx << "\n  inputs " << std::hex << in[0][k] << " "
                    << in[1][k] << " " << in[2][k] << "\n  expected " << want
                    << ", found " << r.out[k];
    }
  }
}

#define R32(text) text " mov.b64 %rd0, {%r0, 0};"
#define RF(text) text " mov.b32 %r0, %f0; mov.b64 %rd0, {%r0, 0};"
#define RP(text) text " selp.u64 %rd0, 1, 0, %p0;"
#define R16(text) text " cvt.u64.u16 %rd0, %rs0;"

TEST(Instruction, Forms) {
  compare({
      {R32("lop3.b32 %r0, %r1, %r2, %r3, 0xE8;"),
       [](auto a, auto b, auto c) { return u((a & b) | (a & c) | (b & c)); }},
      {"cvt.s64.s8 %rd0, %rd1;",
       [](auto a, auto, auto) { return uint64_t(int64_t(int8_t(a))); }},
      {RP("setp.lt.s32 %p0, %r1, %r2;"),
       [](auto a, auto b, auto) { return s(a) < s(b); }},
      {RP("setp.hi.u32 %p1|%p2, %r1, %r2; xor.pred %p0, %p1, %p2;"),
       [](auto, auto, auto) { return 1; }},
      {RP("setp.ge.s32 %p1, %r1, 0; setp.eq.and.u32 %p0, %r2, %r3, !%p1;"),
       [](auto a, auto b, auto c) { return s(a) < 0 && u(b) == u(c); }},
      {RF("add.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) { return bits(f(a) + f(b)); }},
      {RF("mul.sat.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         float x = f(a) * f(b);
         return bits(x > 0 ? std::min(x, 1.0f) : 0.0f);
       }},
      {RF("max.NaN.abs.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         float x = std::fabs(f(a)), y = std::fabs(f(b));
         return x != x || y != y ? kF32CanonicalNaN : bits(x > y ? x : y);
       }},
      {"mov.b64 %rd4, {%r1, %r2}; mov.b64 %rd5, {%r2, %r3}; mul.rn.f32x2 %rd0, "
       "%rd4, %rd5;",
       [](auto a, auto b, auto c) {
         return bits(f(a) * f(b)) | bits(f(b) * f(c)) << 32;
       }},
  });
}

/// The encoder of f32 agrees with that of f64, which divides, around all codes
/// and the values between neighboring codes.
TEST(NarrowFloats, AreRoundedAsInDoubles) {
  for (unsigned n = 0; n <= unsigned(FloatFormat::F16); ++n) {
    auto format = FloatFormat(n);
    auto check = [&](uint32_t bits) {
      float x = floatFromBits(bits);
      EXPECT_EQ(encode(format, x), encodeF64(format, widenF32(x)))
          << n << " " << std::hex << bits;
    };
    uint32_t codes = getInfo(format).maxCode;
    for (uint32_t code = 0; code <= codes; ++code) {
      uint32_t low = bitsOf(decode(format, code)) & 0x7FFFFFFFu,
               high = bitsOf(decode(format, code + (code < codes)));
      uint32_t middle = bitsOf((floatFromBits(low) + floatFromBits(high)) / 2);
      for (uint32_t bits : {low, middle})
        for (uint32_t change : {~0u, 0u, 1u})
          for (uint32_t sign : {0u, 0x80000000u})
            check((bits + change) ^ sign);
    }
    for (uint64_t bits = 0; bits < 1ull << 32; bits += 65521)
      check(uint32_t(bits));
    for (uint32_t bits : {0x7F7FFFFFu, 0x7F800000u, 0x7F800001u, 0xFFC00000u})
      check(bits);
  }
}

/// Tests only that instructions use the right codecs of Support. The codecs
/// have their own tests.
TEST(Instruction, NarrowFloats) {
  auto pair = [](FloatFormat format, unsigned width) -> Host {
    return [=](uint64_t a, uint64_t b, uint64_t) {
      return uint64_t(encode(format, f(a))) << width | encode(format, f(b));
    };
  };
  compare({
      {R16("cvt.rn.satfinite.e2m3x2.f32 %rs0, %f1, %f2;"),
       pair(FloatFormat::E2M3, 8)},
      {R16("cvt.rn.satfinite.e3m2x2.f32 %rs0, %f1, %f2;"),
       pair(FloatFormat::E3M2, 8)},
      {"{ .reg .b8 %b<2>; cvt.rn.satfinite.e2m1x2.f32 %b0, %f1, %f2; "
       "cvt.u64.u8 %rd0, %b0; }",
       pair(FloatFormat::E2M1, 4)},
      {R16("cvt.rp.satfinite.ue8m0x2.f32 %rs0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         return uint64_t(encodeE8M0Up(f(a))) << 8 | encodeE8M0Up(f(b));
       }},
      {R16("cvt.rz.ue8m0x2.f32 %rs0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         return uint64_t(encodeE8M0Down(f(a), false)) << 8 |
                encodeE8M0Down(f(b), false);
       }},
      {R32("cvt.rn.bf16x2.ue8m0x2 %r0, %rs1;"),
       [](auto a, auto, auto) {
         auto one = [](uint8_t c) {
           return encode(FloatFormat::BF16, decode(FloatFormat::E8M0, c));
         };
         return uint64_t(one(a >> 8)) << 16 | one(a);
       }},
      {R16("mul.bf16 %rs0, %rs1, %rs2;"),
       [](auto a, auto b, auto) {
         auto w = [](uint64_t v) {
           return double(decode(FloatFormat::BF16, uint16_t(v)));
         };
         return uint64_t(encodeF64(FloatFormat::BF16, w(a) * w(b)));
       }},
      {R16("add.f16 %rs0, %rs1, %rs2;"),
       [](auto a, auto b, auto) {
         auto w = [](uint64_t v) {
           return double(decode(FloatFormat::F16, uint16_t(v)));
         };
         return uint64_t(encodeF64(FloatFormat::F16, w(a) + w(b)));
       }},
  });
}

TEST(Instruction, Offsets) {
  // An offset is a sum of signed terms.
  compare({
      {R32("setp.lt.u32 %p1, %r43, 32; mov.u32 %r5, smem;"
           "@%p1 st.shared.u32 [smem+8], 7; bar.sync 0; add.u32 %r5, %r5, 16;"
           "ld.shared.u32 %r0, [%r5-12+4];"),
       [](auto, auto, auto) { return uint64_t(7); }},
      {R32("setp.lt.u32 %p1, %r43, 32; @%p1 st.shared.u32 [smem+8], 7;"
           "bar.sync 0; ld.shared.u32 %r0, [smem+16-12+4];"),
       [](auto, auto, auto) { return uint64_t(7); }},
  });
}

TEST(Instruction, ConstantExpressions) {
  auto row = [](const char *ptx, uint64_t value) {
    return Row{ptx, [value](auto, auto, auto) { return value; }};
  };
  compare({
      row("mov.u64 %rd0, -8/2;", uint64_t(-4)),
      row("mov.u64 %rd0, -8/2U;", 0x7FFFFFFFFFFFFFFC),
      row("mov.u64 %rd0, -7 % 3;", uint64_t(-1)),
      row("mov.u64 %rd0, 0xFFFFFFFFFFFFFFF8/2;", 0x7FFFFFFFFFFFFFFC),
      row("mov.u64 %rd0, (-9223372036854775807-1)/-1;", 1ull << 63),
      row("mov.u64 %rd0, (-9223372036854775807-1) % -1;", 0),
      row("mov.u64 %rd0, 2+3*4-WARP_SZ/-8;", 18),
  });
}

/// All lanes of the warp spin on a lock, which one lane holds at a time.
TEST(Instruction, LockOfAWarp) {
  std::vector<std::vector<uint64_t>> in(3, std::vector<uint64_t>(64));
  for (uint64_t k = 0; k < 64; ++k)
    in[0][k] = k * 3 + 1;
  PtxResult r = runPtx(
      R32("setp.eq.u32 %p1, %r43, 0; @%p1 st.shared.v2.u32 [smem], {0, 0};"
          "bar.sync 0; LOCK: atom.acquire.cta.shared.cas.b32 %r4, [smem], 0, 1;"
          "setp.ne.u32 %p2, %r4, 0; @%p2 bra LOCK;"
          "ld.shared.u32 %r5, [smem+4]; add.u32 %r5, %r5, %r1;"
          "st.shared.u32 [smem+4], %r5;"
          "atom.release.cta.shared.exch.b32 %r4, [smem], 0;"
          "bar.sync 0; ld.shared.u32 %r0, [smem+4];"),
      in);
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint64_t v : r.out)
    EXPECT_EQ(v, 64u * 63 / 2 * 3 + 64);
}

/// A warp may arrive at a barrier and then wait at the same barrier. The
/// barrier counts 64 arrivals from any warps.
TEST(Instruction, NamedBarrierCountsArrivals) {
  PtxResult r =
      runPtx(R32("setp.ge.u32 %p1, %r43, 32; mov.u32 %r0, 7; @%p1 bra END;"
                 "bar.arrive 1, 64; bar.sync 1, 64; mov.u32 %r0, 9; END:"),
             {std::vector<uint64_t>(64)});
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (size_t k = 0; k < 64; ++k)
    EXPECT_EQ(r.out[k], k < 32 ? 9u : 7u);
}

} // namespace
