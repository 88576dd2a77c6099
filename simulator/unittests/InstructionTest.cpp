//===- InstructionTest.cpp - Single instructions against the host ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each row pairs an instruction with its equivalent in C++. Operands include
// the limits of all types. The full table was compared with a GPU once.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include "mxsim/tensor/NumberFormats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
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
int64_t sl(uint64_t v) { return int64_t(v); }

std::vector<std::vector<uint64_t>> inputs(bool wide) {
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
        x = edges[x % std::size(edges)] | (x & 0xFFFFFFFF00000000ull);
      else if (k % 3 == 1)
        x = bitsOf(float(std::ldexp(double(int64_t(x)), int(rng() % 40) - 83)));
      if (!wide)
        x &= 0xFFFFFFFFu;
      v[k] = x;
    }
  return in;
}

void compare(const std::vector<Row> &rows, bool wide = false) {
  auto in = inputs(wide);
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

TEST(Instruction, Integer32) {
  compare({
      {R32("add.u32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(a + b); }},
      {R32("sub.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(a - b); }},
      {R32("mul.lo.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(u(a) * u(b)); }},
      {R32("mul.hi.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) {
         return u(uint64_t(int64_t(s(a)) * s(b)) >> 32);
       }},
      {R32("mul.hi.u32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u((uint64_t(u(a)) * u(b)) >> 32); }},
      {"mul.wide.s32 %rd0, %r1, %r2;",
       [](auto a, auto b, auto) { return uint64_t(int64_t(s(a)) * s(b)); }},
      {"mad.wide.u32 %rd0, %r1, %r2, %rd3;",
       [](auto a, auto b, auto c) { return uint64_t(u(a)) * u(b) + c; }},
      {R32("mad.lo.s32 %r0, %r1, %r2, %r3;"),
       [](auto a, auto b, auto c) { return u(u(a) * u(b) + u(c)); }},
      {R32("max.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(std::max(s(a), s(b))); }},
      {R32("min.u32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(std::min(u(a), u(b))); }},
      {R32("add.sat.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) {
         int64_t x = int64_t(s(a)) + s(b);
         return u(
             std::min<int64_t>(std::max<int64_t>(x, INT32_MIN), INT32_MAX));
       }},
      {R32("shl.b32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(u(b) > 31 ? 0 : u(a) << u(b)); }},
      {R32("shr.s32 %r0, %r1, %r2;"),
       [](auto a, auto b, auto) { return u(s(a) >> std::min(u(b), 31u)); }},
      {R32("shf.l.wrap.b32 %r0, %r1, %r2, %r3;"),
       [](auto a, auto b, auto c) {
         return u((uint64_t(u(b)) << 32 | u(a)) << (c & 31) >> 32);
       }},
      {R32("prmt.b32 %r0, %r1, %r2, 0x7531;"),
       [](auto a, auto b, auto) {
         uint64_t p = uint64_t(u(b)) << 32 | u(a);
         return u((p >> 8 & 255) | (p >> 24 & 255) << 8 |
                  (p >> 40 & 255) << 16 | (p >> 56) << 24);
       }},
      {R32("lop3.b32 %r0, %r1, %r2, %r3, 0xE8;"),
       [](auto a, auto b, auto c) { return u((a & b) | (a & c) | (b & c)); }},
      {R32("popc.b32 %r0, %r1;"),
       [](auto a, auto, auto) { return uint64_t(__builtin_popcount(u(a))); }},
      {R32("clz.b32 %r0, %r1;"),
       [](auto a, auto, auto) {
         return uint64_t(u(a) ? __builtin_clz(u(a)) : 32);
       }},
      {R32("bfind.shiftamt.u32 %r0, %r1;"),
       [](auto a, auto, auto) {
         return uint64_t(u(a) ? __builtin_clz(u(a)) : ~0u);
       }},
      {R32("bfind.s32 %r0, %r1;"),
       [](auto a, auto, auto) {
         uint32_t x = s(a) < 0 ? ~u(a) : u(a);
         return uint64_t(x ? 31 - __builtin_clz(x) : ~0u);
       }},
      {R32("bfe.u32 %r0, %r1, 5, 7;"),
       [](auto a, auto, auto) { return u(a) >> 5 & 127; }},
      {R32("bfe.s32 %r0, %r1, 28, 8;"),
       [](auto a, auto, auto) { return u(s(a) >> 28); }},
      {R32("bfi.b32 %r0, %r1, %r2, 4, 12;"),
       [](auto a, auto b, auto) {
         return u((b & ~0xFFF0u) | (a & 0xFFF) << 4);
       }},
      {R32("div.s32 %r0, %r1, 7;"),
       [](auto a, auto, auto) { return u(s(a) / 7); }},
      {R32("rem.u32 %r0, %r1, 1000;"),
       [](auto a, auto, auto) { return u(a) % 1000; }},
      {R32("add.cc.u32 %r4, %r1, %r2; addc.u32 %r0, %r3, 0;"),
       [](auto a, auto b, auto c) {
         return u(u(c) + ((uint64_t(u(a)) + u(b)) >> 32));
       }},
      {R32("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r3, 0;"),
       [](auto a, auto b, auto c) { return u(u(c) - (u(a) < u(b))); }},
      {RP("setp.lt.s32 %p0, %r1, %r2;"),
       [](auto a, auto b, auto) { return s(a) < s(b); }},
      {RP("setp.hi.u32 %p1|%p2, %r1, %r2; xor.pred %p0, %p1, %p2;"),
       [](auto, auto, auto) { return 1; }},
      {RP("setp.ge.s32 %p1, %r1, 0; setp.eq.and.u32 %p0, %r2, %r3, !%p1;"),
       [](auto a, auto b, auto c) { return s(a) < 0 && u(b) == u(c); }},
      {R16("mul.lo.s16 %rs0, %rs1, %rs2;"),
       [](auto a, auto b, auto) { return uint16_t(a * b); }},
      {R16("shr.s16 %rs0, %rs1, 3;"),
       [](auto a, auto, auto) { return uint16_t(int16_t(a) >> 3); }},
      {R32("mul.wide.s16 %r0, %rs1, %rs2;"),
       [](auto a, auto b, auto) { return u(int16_t(a) * int16_t(b)); }},
      {R32("cvt.s32.s8 %r0, %r1;"),
       [](auto a, auto, auto) { return u(int8_t(a)); }},
      {R32("cvt.sat.u8.s32 %r0, %r1;"),
       [](auto a, auto, auto) {
         return uint64_t(std::min(std::max(s(a), 0), 255));
       }},
  });
}

TEST(Instruction, Integer64) {
  compare(
      {
          {"add.s64 %rd0, %rd1, %rd2;",
           [](auto a, auto b, auto) { return a + b; }},
          {"mul.lo.u64 %rd0, %rd1, %rd2;",
           [](auto a, auto b, auto) { return a * b; }},
          {"mul.hi.s64 %rd0, %rd1, %rd2;",
           [](auto a, auto b, auto) {
             return uint64_t(((__int128)sl(a) * sl(b)) >> 64);
           }},
          {"shr.u64 %rd0, %rd1, %r2;",
           [](auto a, auto b, auto) { return u(b) > 63 ? 0 : a >> u(b); }},
          {"rem.s64 %rd0, %rd1, 12345;",
           [](auto a, auto, auto) { return uint64_t(sl(a) % 12345); }},
          {"brev.b64 %rd0, %rd1;",
           [](auto a, auto, auto) {
             uint64_t r = 0;
             for (int k = 0; k < 64; ++k)
               r |= (a >> k & 1) << (63 - k);
             return r;
           }},
          {"cvt.s64.s32 %rd0, %r1;",
           [](auto a, auto, auto) { return uint64_t(int64_t(s(a))); }},
          {"cvt.s64.s8 %rd0, %rd1;",
           [](auto a, auto, auto) { return uint64_t(int64_t(int8_t(a))); }},
          {"mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd0, {%r5, %r4};",
           [](auto a, auto, auto) { return a >> 32 | a << 32; }},
          {"mov.b64 {%rs4, %rs5, %rs6, %rs7}, %rd1; mov.b64 %rd0, {%rs7, %rs6, "
           "%rs5, %rs4};",
           [](auto a, auto, auto) {
             return a >> 48 | (a >> 32 & 0xFFFF) << 16 |
                    (a >> 16 & 0xFFFF) << 32 | a << 48;
           }},
          {"mov.b128 %rq1, {%rd1, %rd2}; mov.b128 {%rd4, %rd0}, %rq1;",
           [](auto, auto b, auto) { return b; }},
      },
      /*wide=*/true);
}

TEST(Instruction, Float32) {
  compare({
      {RF("add.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) { return bits(f(a) + f(b)); }},
      {RF("mul.rn.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) { return bits(f(a) * f(b)); }},
      {RF("fma.rn.f32 %f0, %f1, %f2, %f3;"),
       [](auto a, auto b, auto c) { return bits(std::fma(f(a), f(b), f(c))); }},
      {RF("div.rn.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) { return bits(f(a) / f(b)); }},
      {RF("sqrt.rn.f32 %f0, %f1;"),
       [](auto a, auto, auto) { return bits(std::sqrt(f(a))); }},
      {RF("mul.sat.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         float x = f(a) * f(b);
         return bits(x > 0 ? std::min(x, 1.0f) : 0.0f);
       }},
      {RF("max.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         float x = f(a), y = f(b);
         if (x != x || y != y)
           return bits(x != x ? y : x);
         return x == y ? bits(std::signbit(x) ? y : x) : bits(x > y ? x : y);
       }},
      {RF("max.NaN.abs.f32 %f0, %f1, %f2;"),
       [](auto a, auto b, auto) {
         float x = std::fabs(f(a)), y = std::fabs(f(b));
         return x != x || y != y ? kF32CanonicalNaN : bits(x > y ? x : y);
       }},
      {RP("setp.lt.f32 %p0, %f1, %f2;"),
       [](auto a, auto b, auto) { return f(a) < f(b); }},
      {RP("setp.neu.f32 %p0, %f1, %f2;"),
       [](auto a, auto b, auto) { return !(f(a) == f(b)); }},
      {RP("setp.ne.f32 %p0, %f1, %f2;"),
       [](auto a, auto b, auto) { return f(a) < f(b) || f(a) > f(b); }},
      {RP("setp.nan.f32 %p0, %f1, %f2;"),
       [](auto a, auto b, auto) { return f(a) != f(a) || f(b) != f(b); }},
      {"mov.b64 %rd4, {%r1, %r2}; mov.b64 %rd5, {%r2, %r3}; mul.rn.f32x2 %rd0, "
       "%rd4, %rd5;",
       [](auto a, auto b, auto c) {
         return bits(f(a) * f(b)) | bits(f(b) * f(c)) << 32;
       }},
      {R32("cvt.rzi.s32.f32 %r0, %f1;"),
       [](auto a, auto, auto) {
         float x = f(a);
         return x != x          ? 0u
                : x >= 0x1p31f  ? 0x7FFFFFFFu
                : x <= -0x1p31f ? 0x80000000u
                                : u(int32_t(x));
       }},
      {RF("cvt.rn.f32.s32 %f0, %r1;"),
       [](auto a, auto, auto) { return bits(float(s(a))); }},
      {RF("cvt.rmi.f32.f32 %f0, %f1;"),
       [](auto a, auto, auto) { return bits(std::floor(f(a))); }},
      {"cvt.f64.f32 %fd1, %f1; cvt.f64.f32 %fd2, %f2; fma.rn.f64 %fd3, %fd1, "
       "%fd2, %fd1; setp.gt.f64 %p0, %fd3, 0d3FF0000000000000; selp.u64 %rd0, "
       "1, 0, %p0;",
       [](auto a, auto b, auto) {
         return std::fma(double(f(a)), double(f(b)), double(f(a))) > 1.0;
       }},
  });
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
      {R16("cvt.rn.satfinite.e4m3x2.f32 %rs0, %f1, %f2;"),
       pair(FloatFormat::E4M3, 8)},
      {R16("cvt.rn.satfinite.e5m2x2.f32 %rs0, %f1, %f2;"),
       pair(FloatFormat::E5M2, 8)},
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
      {R32("cvt.rn.bf16x2.f32 %r0, %f1, %f2;"), pair(FloatFormat::BF16, 16)},
      {R32("cvt.rn.f16x2.f32 %r0, %f1, %f2;"), pair(FloatFormat::F16, 16)},
      {RF("cvt.f32.bf16 %f0, %rs1;"),
       [](auto a, auto, auto) { return uint64_t(uint16_t(a)) << 16; }},
      {RF("cvt.f32.f16 %f0, %rs1;"),
       [](auto a, auto, auto) {
         return bits(decode(FloatFormat::F16, uint16_t(a)));
       }},
      {R32("cvt.rn.f16x2.e4m3x2 %r0, %rs1;"),
       [](auto a, auto, auto) {
         auto one = [](uint8_t c) {
           return encode(FloatFormat::F16, decode(FloatFormat::E4M3, c));
         };
         return uint64_t(one(a >> 8)) << 16 | one(a);
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

TEST(Instruction, Warp) {
  auto in = inputs(false);
  auto check = [&](const char *text, auto host) {
    PtxResult r = runPtx(text, in);
    ASSERT_EQ(r.error, "") << text;
    ASSERT_TRUE(r.report.clean()) << r.report.text();
    for (size_t k = 0; k < r.out.size(); ++k)
      ASSERT_EQ(r.out[k], host(k & ~31ull, unsigned(k & 31))) << text << k;
  };
  auto v = [&](size_t k) { return uint64_t(u(in[0][k])); };
  check(R32("shfl.sync.bfly.b32 %r0, %r1, 5, 31, -1;"),
        [&](size_t w, unsigned l) { return v(w + (l ^ 5)); });
  check(R32("shfl.sync.up.b32 %r0, %r1, 3, 0, -1;"),
        [&](size_t w, unsigned l) { return v(w + (l < 3 ? l : l - 3)); });
  check(R32("shfl.sync.down.b32 %r0|%p1, %r1, 2, 0x181f, -1;"),
        [&](size_t w, unsigned l) {
          return v(w + ((l & 7) + 2 > 7 ? l : l + 2));
        });
  check(R32("setp.lt.s32 %p1, %r1, 0; vote.sync.ballot.b32 %r0, %p1, -1;"),
        [&](size_t w, unsigned) {
          uint64_t b = 0;
          for (unsigned l = 0; l < 32; ++l)
            b |= uint64_t(s(v(w + l)) < 0) << l;
          return b;
        });
  check(R32("redux.sync.max.s32 %r0, %r1, -1;"), [&](size_t w, unsigned) {
    int32_t m = s(v(w));
    for (unsigned l = 1; l < 32; ++l)
      m = std::max(m, s(v(w + l)));
    return uint64_t(u(m));
  });
  check(R32("elect.sync %r4|%p1, -1; selp.u32 %r0, 7, %r4, %p1;"),
        [&](size_t, unsigned l) { return uint64_t(l ? 0 : 7); });
  // Only half of the warp executes the divergent branch.
  check(
      R32("and.b32 %r4, %r43, 1; setp.eq.u32 %p1, %r4, 0; mov.u32 %r0, 9;"
          "@%p1 bra OUT; shfl.sync.idx.b32 %r0, %r1, 1, 31, 0xAAAAAAAA; OUT:"),
      [&](size_t w, unsigned l) { return l & 1 ? v(w + 1) : 9; });
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

TEST(Instruction, Atomics) {
  std::vector<std::vector<uint64_t>> in(3, std::vector<uint64_t>(64));
  for (uint64_t k = 0; k < 64; ++k)
    in[0][k] = k * 3 + 1;
  PtxResult r = runPtx(
      R32("setp.eq.u32 %p1, %r43, 0; @%p1 st.shared.u32 [smem], 0; bar.sync 0;"
          "atom.shared.add.u32 %r4, [smem], %r1; bar.sync 0;"
          "ld.shared.u32 %r0, [smem];"),
      in);
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint64_t v : r.out)
    EXPECT_EQ(v, 64u * 63 / 2 * 3 + 64);
  // All lanes of the warp spin on a lock, which one lane holds at a time.
  r = runPtx(
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
