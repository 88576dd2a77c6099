//===- TensorDescriptorsTest.cpp - Decoding of descriptors ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes words composed by hand from the tables of the PTX ISA.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

TEST(SmemDesc, DecodesFieldsAndRejectsReservedBits) {
  SmemDesc desc;
  ASSERT_FALSE(decodeSmemDesc(smemDesc(0x12400, 0x40, 0x400, 2), desc));
  EXPECT_EQ(desc.start, 0x12400u);
  EXPECT_EQ(desc.leadingOffset, 0x40u);
  EXPECT_EQ(desc.strideOffset, 0x400u);
  EXPECT_EQ(desc.span(), 128u);
  uint64_t good = smemDesc(0x1000, 16, 1024, 2);
  for (unsigned bit : {14u, 15u, 30u, 31u, 46u, 47u, 48u, 53u, 60u})
    EXPECT_EQ(decodeSmemDesc(good ^ uint64_t{1} << bit, desc).kind,
              FaultKind::Descriptor)
        << bit;
  EXPECT_NE(
      decodeSmemDesc(good | uint64_t{1} << 52, desc).message.find("sm_103a"),
      std::string::npos);
  for (uint64_t layout : {3, 5, 7})
    EXPECT_TRUE(decodeSmemDesc(smemDesc(0, 0, 0, layout), desc)) << layout;
}

TEST(SmemDesc, ChecksThePhaseOfThePattern) {
  SmemDesc desc;
  // With a base offset of zero, a tile may start at any line of the pattern.
  EXPECT_FALSE(decodeSmemDesc(smemDesc(1024 + 96, 0, 1024, 2), desc));
  EXPECT_FALSE(decodeSmemDesc(smemDesc(1024 + 128, 0, 1024, 2), desc));
  EXPECT_FALSE(decodeSmemDesc(smemDesc(1024 + 128, 0, 1024, 2, 1), desc));
  EXPECT_EQ(decodeSmemDesc(smemDesc(1024 + 128, 0, 1024, 2, 2), desc).message,
            "matrix descriptor: start address 1152 is line 1 of its swizzle "
            "pattern, but the base offset is 2");
  EXPECT_FALSE(decodeSmemDesc(smemDesc(256, 0, 512, 4, 2), desc));
  EXPECT_TRUE(decodeSmemDesc(smemDesc(256, 0, 512, 4, 1), desc));
  EXPECT_FALSE(decodeSmemDesc(smemDesc(128, 0, 256, 6, 1), desc));
  EXPECT_TRUE(decodeSmemDesc(smemDesc(128, 0, 256, 6, 2), desc));
  EXPECT_FALSE(decodeSmemDesc(smemDesc(128, 16, 128, 0), desc));
}

/// PTX ISA, wgmma's "Matrix Descriptor Format": the base offset is "valid for
/// all swizzling modes except the no-swizzle mode". tcgen05 defines pattern
/// start addresses for the same modes only.
TEST(SmemDesc, WithoutSwizzleThereIsNoBaseOffset) {
  for (uint64_t base = 0; base < 8; ++base) {
    SmemDesc desc, plain;
    ASSERT_FALSE(decodeSmemDesc(smemDesc(128, 16, 128, 0), plain));
    EXPECT_FALSE(decodeSmemDesc(smemDesc(128, 16, 128, 0, base), desc)) << base;
    uint64_t wgmma = smemDesc(128, 16, 128, 0, base) & ~(uint64_t{7} << 46);
    for (int format = 0; format < 2; ++format) {
      for (unsigned row = 0; row < 64; ++row)
        EXPECT_EQ(desc.kMajor(row, 24), plain.kMajor(row, 24));
      EXPECT_FALSE(decodeWgmmaDesc(wgmma, desc)) << base;
    }
  }
}

/// Setting any bit outside the fields of wgmma's descriptor format does not
/// change the result of an H200.
TEST(SmemDesc, WgmmaIgnoresBitsBetweenTheFields) {
  uint64_t good = smemDesc(1024, 16, 1024, 2) & ~(uint64_t{7} << 46);
  SmemDesc plain;
  ASSERT_FALSE(decodeWgmmaDesc(good, plain));
  for (unsigned bit : {14u, 15u, 30u, 31u, 46u, 47u, 48u, 52u, 55u, 58u, 60u}) {
    SmemDesc desc;
    EXPECT_FALSE(decodeWgmmaDesc(good | uint64_t{1} << bit, desc)) << bit;
    EXPECT_EQ(desc.kMajor(13, 16), plain.kMajor(13, 16)) << bit;
  }
}

/// Transcribes the canonical layouts of PTX ISA, "Strides", which are nested
/// shapes and strides in 16-byte units. Swizzled layouts apply the functor
/// Swizzle<bits, 4, 3>, which XORs address bits from 7 into bits from 4.
TEST(SmemDesc, AddressesFollowTheCanonicalLayouts) {
  std::mt19937 random(11);
  struct {
    uint64_t code;
    unsigned chunks, bits;
  } const layouts[] = {{0, 1, 0}, {6, 2, 1}, {4, 4, 2}, {2, 8, 3}};
  auto functor = [](uint32_t a, unsigned bits) {
    return a ^ ((a >> 7 & ((1u << bits) - 1)) << 4);
  };
  for (const auto &layout : layouts)
    for (unsigned element : {1u, 2u, 4u}) {
      unsigned T = 16 / element;
      uint32_t start = 0x2000, lbo = 16 * (1 + random() % 500),
               sbo = 16 * (1 + random() % 500);
      SmemDesc desc;
      ASSERT_FALSE(
          decodeSmemDesc(smemDesc(start, lbo, sbo, layout.code), desc));
      for (unsigned mn = 0; mn < 128; ++mn)
        for (unsigned k = 0; k < 32 / element; ++k) {
          // K-major ((8,m),(T,2k)) : ((cT,SBO),(1,LBO or T))
          uint32_t chunk = layout.code ? 16 : lbo;
          uint32_t kMajor = start + mn % 8 * layout.chunks * 16 + mn / 8 * sbo +
                            k % T * element + k / T * chunk;
          ASSERT_EQ(desc.kMajor(mn, k * element), functor(kMajor, layout.bits));
          // MN-major ((T,c,m),(8,k)) : ((1,T,LBO),(cT,SBO)); without swizzle
          // ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
          uint32_t m = layout.code ? lbo : sbo, kk = layout.code ? sbo : lbo;
          uint32_t mnMajor = start + mn % T * element +
                             mn / T % layout.chunks * 16 +
                             mn / T / layout.chunks * m +
                             k % 8 * layout.chunks * 16 + k / 8 * kk;
          ASSERT_EQ(desc.mnMajor(mn, k, element),
                    functor(mnMajor, layout.bits));
        }
    }
  // 128B swizzle with 32-byte atoms uses the layout
  // ((T,8,m),(4,k)) : ((1,T,LBO),(8T,SBO)) and Swizzle<2,5,2>, which XORs
  // bits 7 and 8 into bits 5 and 6.
  SmemDesc desc;
  ASSERT_FALSE(decodeSmemDesc(smemDesc(0x2000, 2048, 512, 1), desc));
  for (unsigned mn = 0; mn < 64; ++mn)
    for (unsigned k = 0; k < 8; ++k) {
      uint32_t a =
          0x2000 + mn % 32 * 4 + mn / 32 * 2048 + k % 4 * 128 + k / 4 * 512;
      ASSERT_EQ(desc.mnMajor(mn, k, 4), a ^ (a >> 7 & 3) << 5);
    }
}

/// A descriptor reads the data that TMA writes with the same swizzle.
TEST(SmemDesc, ReadsDataWrittenByTma) {
  struct {
    TmapSwizzle swizzle;
    uint64_t code;
    unsigned span;
  } const modes[] = {{TmapSwizzle::B32, 6, 32},
                     {TmapSwizzle::B64, 4, 64},
                     {TmapSwizzle::B128, 2, 128}};
  for (const auto &mode : modes) {
    FlatMemory global(128 * 128);
    for (size_t i = 0; i < global.bytes.size(); ++i)
      global.bytes[i] = static_cast<uint8_t>(i * 7 + i / 128 * 13);
    TensorMapDesc map;
    map.globalAddress = FlatMemory::base;
    map.rank = 2;
    map.dims = {128, 128};
    map.strides = {128};
    map.box = {mode.span, 128};
    map.swizzle = mode.swizzle;
    std::vector<uint8_t> shared(32768);
    SharedMemory window{shared.data(), 32768, nullptr};
    int32_t at[2] = {0, 0};
    ASSERT_FALSE(tmaLoad(map, at, global, window, 3072).fault);
    for (unsigned step = 0; step < mode.span / 32; ++step) {
      SmemDesc desc;
      ASSERT_FALSE(decodeSmemDesc(
          smemDesc(3072 + step * 32, 16, mode.span * 8, mode.code), desc));
      for (unsigned row = 0; row < 128; ++row)
        for (unsigned byte = 0; byte < 32; ++byte)
          ASSERT_EQ(shared[desc.kMajor(row, byte)],
                    global.bytes[row * 128 + step * 32 + byte]);
    }
  }
}

struct Legal {
  MmaKind kind;
  unsigned group;
  ScaleVec vec;
  unsigned m, nFirst, nStep;
};

uint32_t wordFor(MmaKind kind, unsigned m, unsigned n) {
  switch (kind) {
  case MmaKind::F16:
    return 1u << 4 | n / 8 << 17 | m / 16 << 24;
  case MmaKind::TF32:
    return 1u << 4 | 2u << 7 | 2u << 10 | n / 8 << 17 | m / 16 << 24;
  case MmaKind::F8F6F4:
    return 1u << 4 | n / 8 << 17 | m / 16 << 24;
  case MmaKind::I8:
    return 2u << 4 | n / 8 << 17 | m / 16 << 24;
  case MmaKind::MXF8F6F4:
    return n / 8 << 17 | 1u << 23 | m / 128 << 27;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return 1u << 7 | 1u << 10 | n / 8 << 17 | 1u << 23 | m / 128 << 27;
  }
  return 0;
}

TEST(InstrDesc, LegalShapesMatchTheTable) {
  for (MmaKind kind :
       {MmaKind::F16, MmaKind::TF32, MmaKind::F8F6F4, MmaKind::I8,
        MmaKind::MXF8F6F4, MmaKind::MXF4, MmaKind::MXF4NVF4})
    for (unsigned group : {1u, 2u})
      for (unsigned m : {0u, 32u, 64u, 128u, 256u, 384u})
        for (unsigned n = 0; n < 512; n += 8) {
          bool scaled = kind == MmaKind::MXF8F6F4 || kind == MmaKind::MXF4 ||
                        kind == MmaKind::MXF4NVF4;
          if (scaled && m % 128)
            continue; // not encodable
          bool legal = n >= 8 && n <= 256;
          if (group == 1)
            legal &= m == 128 || (m == 64 && !scaled);
          else
            legal &= (m == 128 || m == 256) && n % 16 == 0;
          if (kind == MmaKind::I8)
            legal &= group == 2 ? n % 32 == 0 : n <= 32 || n % 16 == 0;
          InstrDesc desc;
          ScaleVec vec =
              kind == MmaKind::MXF4NVF4 ? ScaleVec::X4 : ScaleVec::Default;
          Fault fault =
              decodeInstrDesc(wordFor(kind, m, n), kind, group, vec, desc);
          EXPECT_EQ(!fault, legal) << name(kind) << " cta_group::" << group
                                   << " " << m << "x" << n << fault.message;
          if (!fault) {
            EXPECT_EQ(desc.m, m);
            EXPECT_EQ(desc.n, n);
          }
        }
}

TEST(InstrDesc, DecodesKnownWords) {
  InstrDesc desc;
  ASSERT_FALSE(decodeInstrDesc(0x68C00010, MmaKind::MXF8F6F4, 1,
                               ScaleVec::Default, desc));
  EXPECT_EQ(desc.m, 128u);
  EXPECT_EQ(desc.n, 256u);
  EXPECT_EQ(desc.k, 32u);
  EXPECT_EQ(desc.scaleIdA, 3u);
  EXPECT_EQ(desc.scaleIdB, 1u);
  EXPECT_EQ(desc.scaleBlocks, 1u);
  EXPECT_EQ(desc.a, ElementType::E4M3);
  ASSERT_FALSE(
      decodeInstrDesc(0x08400490, MmaKind::F16, 1, ScaleVec::Default, desc));
  EXPECT_EQ(desc.a, ElementType::BF16);
  EXPECT_EQ(desc.b, ElementType::BF16);
  EXPECT_EQ(desc.d, AccumulatorType::F32);
  EXPECT_EQ(desc.k, 16u);
}

TEST(InstrDesc, ReportsIllegalCombinations) {
  auto decode = [](uint32_t word, MmaKind kind, unsigned group = 1,
                   ScaleVec vec = ScaleVec::Default) {
    InstrDesc desc;
    return decodeInstrDesc(word, kind, group, vec, desc);
  };
  uint32_t mx = wordFor(MmaKind::MXF8F6F4, 128, 256);
  ASSERT_FALSE(decode(mx, MmaKind::MXF8F6F4));
  for (unsigned bit : {0u, 1u, 3u, 6u, 24u, 25u, 26u, 31u})
    EXPECT_EQ(decode(mx | 1u << bit, MmaKind::MXF8F6F4).kind,
              FaultKind::Descriptor)
        << bit;
  EXPECT_EQ(decode(mx | 4, MmaKind::MXF8F6F4).kind, FaultKind::Descriptor);
  EXPECT_TRUE(decode(mx & ~(1u << 23), MmaKind::MXF8F6F4)) << "ue4m3";
  EXPECT_TRUE(decode(mx | 2u << 7, MmaKind::MXF8F6F4)) << "type code 2";
  EXPECT_TRUE(decode(mx, MmaKind::MXF8F6F4, 1, ScaleVec::X2));
  EXPECT_EQ(decode(mx, MmaKind::MXF8F6F4, 3).kind, FaultKind::Shape);
  EXPECT_EQ(
      decode(wordFor(MmaKind::MXF8F6F4, 256, 256), MmaKind::MXF8F6F4).message,
      "kind::mxf8f6f4 with cta_group::1 needs M of 128, got 256");
  // Transposed 8-bit B requires N to be a multiple of 16 or 32.
  uint32_t transposed = wordFor(MmaKind::MXF8F6F4, 128, 24) | 1u << 16;
  EXPECT_TRUE(decode(transposed, MmaKind::MXF8F6F4));
  EXPECT_FALSE(decode(wordFor(MmaKind::MXF8F6F4, 128, 16) | 1u << 16,
                      MmaKind::MXF8F6F4));
  EXPECT_TRUE(decode(wordFor(MmaKind::MXF8F6F4, 256, 48) | 1u << 16,
                     MmaKind::MXF8F6F4, 2));
  EXPECT_TRUE(decode(mx | 5u << 10 | 1u << 16, MmaKind::MXF8F6F4))
      << "4-bit elements cannot be transposed";
  uint32_t fp4 = wordFor(MmaKind::MXF4, 128, 256);
  EXPECT_FALSE(decode(fp4 | 2u << 29 | 2u << 4, MmaKind::MXF4));
  EXPECT_EQ(decode(fp4 | 1u << 29, MmaKind::MXF4).message,
            "instruction descriptor: scale factor id 1 is illegal with "
            "scale_vec::2X");
  EXPECT_TRUE(decode(fp4 | 1u << 15, MmaKind::MXF4)) << "transpose";
  EXPECT_TRUE(decode(fp4 | 1u << 12, MmaKind::MXF4)) << "bit 12";
  EXPECT_TRUE(decode(fp4, MmaKind::MXF4NVF4)) << "needs an explicit size";
  Fault k96 = decode(fp4 | 1u << 31, MmaKind::MXF4);
  EXPECT_EQ(k96.kind, FaultKind::Unsupported);
  EXPECT_EQ(k96.message, "instruction descriptor: K = 96 exists on sm_103a "
                         "only, and is not simulated");
  EXPECT_TRUE(decode(fp4 | 2u << 29, MmaKind::MXF4NVF4, 1, ScaleVec::X4));
  EXPECT_TRUE(decode(fp4 & ~(1u << 23), MmaKind::MXF4NVF4, 1, ScaleVec::X2));
  EXPECT_FALSE(decode(fp4 & ~(1u << 23), MmaKind::MXF4NVF4, 1, ScaleVec::X4));
  uint32_t f16 = wordFor(MmaKind::F16, 128, 256);
  for (unsigned bit : {3u, 6u, 23u, 29u})
    EXPECT_TRUE(decode(f16 | 1u << bit, MmaKind::F16)) << bit;
  // Table 42: the sparsity selector is used only "if Sparsity is enabled", and
  // the maximum shift only "in .ws".
  for (unsigned bit : {0u, 1u, 30u, 31u})
    EXPECT_FALSE(decode(f16 | 1u << bit, MmaKind::F16)) << bit;
  EXPECT_FALSE(decode(f16 & ~16u, MmaKind::F16)) << "f16 accumulator";
  EXPECT_TRUE(decode((f16 & ~16u) | 1u << 7, MmaKind::F16)) << "with bf16";
  EXPECT_TRUE(decode(f16, MmaKind::F16, 1, ScaleVec::X1));
  EXPECT_TRUE(decode(wordFor(MmaKind::I8, 128, 64) | 1u << 13, MmaKind::I8));
  EXPECT_FALSE(decode(wordFor(MmaKind::I8, 128, 64) | 1u << 3, MmaKind::I8));
  ScaleVec vec;
  EXPECT_TRUE(parseScaleVec("block32", MmaKind::MXF4, vec));
  EXPECT_EQ(vec, ScaleVec::X2);
  EXPECT_FALSE(parseScaleVec("scale_vec::3X", MmaKind::MXF4, vec));
}

} // namespace
