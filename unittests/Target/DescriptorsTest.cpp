//===- DescriptorsTest.cpp - Matrix and instruction descriptors -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares descriptors with known words and the bit ranges of the PTX ISA.
// SimulatorAgreementTest.cpp decodes every field of all legal descriptors.
//===----------------------------------------------------------------------===//

#include "mx/Target/Descriptors.h"
#include "gtest/gtest.h"

using namespace mx;
using namespace mx::target;

namespace {

/// Returns bits `first` to `last` of a word, which is how the PTX ISA gives
/// ranges.
uint64_t bits(uint64_t word, unsigned first, unsigned last) {
  return word >> first & ((uint64_t(1) << (last - first + 1)) - 1);
}

//===----------------------------------------------------------------------===//
// Shared-memory matrix descriptor
//===----------------------------------------------------------------------===//

constexpr std::pair<Swizzle, unsigned> kWgmmaLayouts[] = {{Swizzle::None, 0},
                                                          {Swizzle::B128, 1},
                                                          {Swizzle::B64, 2},
                                                          {Swizzle::B32, 3}};

TEST(SmemDescriptor, WgmmaFields) {
  for (auto [swizzle, layout] : kWgmmaLayouts) {
    SmemDescriptor desc{0x12340, 0x80, 0x400, swizzle, 3};
    uint64_t word = encodeWgmma(desc);
    EXPECT_EQ(bits(word, 0, 13), 0x1234u);
    EXPECT_EQ(bits(word, 16, 29), 8u);
    EXPECT_EQ(bits(word, 32, 45), 0x40u);
    EXPECT_EQ(bits(word, 46, 48), 0u);
    EXPECT_EQ(bits(word, 49, 51), 3u);
    EXPECT_EQ(bits(word, 52, 61), 0u);
    EXPECT_EQ(bits(word, 62, 63), layout);
  }
}

TEST(SmemDescriptor, UsualOperands) {
  // With the 128-byte swizzle, a group of rows consists of 8 rows of 128 bytes.
  EXPECT_EQ(encode(kMajorDescriptor(Swizzle::B128)), 0x4000404000000000u);
  EXPECT_EQ(kMajorDescriptor(Swizzle::B64).strideByteOffset, 512u);
  EXPECT_EQ(kMajorDescriptor(Swizzle::B32).strideByteOffset, 256u);
  EXPECT_EQ(kMajorDescriptor(Swizzle::B128).leadingByteOffset, 0u);
  EXPECT_EQ(kMajorDescriptor(Swizzle::None).strideByteOffset, 256u);
  EXPECT_EQ(kMajorDescriptor(Swizzle::None).leadingByteOffset, 128u);
  // Scales have groups of 8 rows of 16 bytes and no swizzle.
  EXPECT_EQ(encode(scaleTileDescriptor()), 0x0000400800000000u);
  EXPECT_EQ(kDescriptorKStep, 2u);
}

TEST(SmemDescriptor, Refusals) {
  SmemDescriptor desc = kMajorDescriptor(Swizzle::B128);
  desc.address = 8;
  EXPECT_EQ(check(desc),
            "expected start address to be a multiple of 16, found 8");
  desc.address = 0x40000;
  EXPECT_EQ(check(desc), "expected start address below 0x40000, found 0x40000");
  desc = kMajorDescriptor(Swizzle::B128);
  desc.leadingByteOffset = 1;
  EXPECT_EQ(check(desc),
            "expected leading byte offset to be a multiple of 16, found 1");
  desc = kMajorDescriptor(Swizzle::B128);
  desc.strideByteOffset = 0x50000;
  EXPECT_EQ(check(desc),
            "expected stride byte offset below 0x40000, found 0x50000");
  desc = kMajorDescriptor(Swizzle::B128);
  desc.baseOffset = 8;
  EXPECT_EQ(check(desc), "expected a base offset of at most 7, found 8");
  for (Swizzle swizzle : {Swizzle::B128Atom32Flip8, Swizzle::B128Atom64}) {
    desc = SmemDescriptor();
    desc.swizzle = swizzle;
    EXPECT_EQ(check(desc),
              "expected a swizzle that matrix descriptors support, found " +
                  std::string(getInfo(swizzle).name));
  }
}

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

InstrDescriptor scaled(MmaKind kind, unsigned group, unsigned m, unsigned n) {
  InstrDescriptor desc;
  desc.kind = kind;
  desc.ctaGroup = group;
  desc.m = m;
  desc.n = n;
  desc.blockSize = 32;
  if (kind != MmaKind::MXF8F6F4)
    desc.a = desc.b = MmaType::E2M1;
  return desc;
}

InstrDescriptor plain(MmaKind kind, MmaType a, MmaType b, AccumulatorType d) {
  InstrDescriptor desc;
  desc.kind = kind;
  desc.a = a;
  desc.b = b;
  desc.d = d;
  return desc;
}

TEST(InstrDescriptor, KnownWords) {
  InstrDescriptor desc = scaled(MmaKind::MXF8F6F4, 1, 128, 256);
  EXPECT_EQ(check(desc), "");
  EXPECT_EQ(encode(desc), 0x08C00000u);
  EXPECT_EQ(encode(scaled(MmaKind::MXF8F6F4, 2, 256, 256)), 0x10C00000u);
  desc.scaleIdA = 3;
  desc.scaleIdB = 1;
  EXPECT_EQ(encode(desc), 0x68C00010u);
  desc =
      plain(MmaKind::F16, MmaType::BF16, MmaType::BF16, AccumulatorType::F32);
  desc.n = 256;
  EXPECT_EQ(check(desc), "");
  EXPECT_EQ(encode(desc), 0x08400490u);
  // NVFP4: E2M1 is 1 here, UE4M3 scales are 0.
  desc = scaled(MmaKind::MXF4NVF4, 1, 128, 128);
  desc.blockSize = 16;
  desc.scaleFormat = FloatFormat::UE4M3;
  EXPECT_EQ(check(desc), "");
  EXPECT_EQ(encode(desc), 0x08200480u);
  EXPECT_EQ(encode(scaled(MmaKind::MXF4, 1, 128, 128)), 0x08A00480u);
}

TEST(InstrDescriptor, ScaleIdsCanBeAddedAfterwards) {
  InstrDescriptor desc = scaled(MmaKind::MXF8F6F4, 2, 256, 192);
  uint32_t base = encode(desc);
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < 4; ++b) {
      desc.scaleIdA = a;
      desc.scaleIdB = b;
      EXPECT_EQ(encode(desc), base | scaleIdBits(a, b));
    }
}

TEST(InstrDescriptor, Refusals) {
  InstrDescriptor desc = scaled(MmaKind::MXF8F6F4, 1, 64, 128);
  EXPECT_EQ(check(desc),
            "expected M = 128 with kind::mxf8f6f4 and cta_group::1, found 64");
  desc = scaled(MmaKind::MXF8F6F4, 1, 128, 128);
  desc.a = MmaType::BF16;
  EXPECT_EQ(check(desc),
            "expected A of kind::mxf8f6f4 to be one of e4m3, e5m2, e2m3, e3m2, "
            "e2m1, found bf16");
  desc = scaled(MmaKind::MXF8F6F4, 1, 128, 128);
  desc.blockSize = 16;
  EXPECT_EQ(check(desc), "expected scales of kind::mxf8f6f4 to be one of 32 x "
                         "ue8m0, found 16 x ue8m0");
  desc = scaled(MmaKind::MXF8F6F4, 1, 128, 128);
  desc.scaleIdB = 4;
  EXPECT_EQ(check(desc), "expected scale id 0, 1, 2, 3 with "
                         "kind::mxf8f6f4.block32, found 4");
  desc = scaled(MmaKind::MXF4, 1, 128, 128);
  desc.transposeB = true;
  EXPECT_EQ(check(desc), "kind::mxf4 takes K-major operands only");
  desc = scaled(MmaKind::MXF8F6F4, 1, 128, 128);
  desc.b = MmaType::E2M1;
  desc.transposeB = true;
  EXPECT_EQ(check(desc), "expected 4-bit and 6-bit operands to be K-major");
  desc.b = MmaType::E4M3;
  desc.a = MmaType::E3M2;
  desc.transposeA = true; // B alone would be legal.
  EXPECT_EQ(check(desc), "expected 4-bit and 6-bit operands to be K-major");
  desc = scaled(MmaKind::MXF8F6F4, 1, 128, 24);
  EXPECT_EQ(check(desc), "");
  desc.transposeB = true;
  EXPECT_EQ(check(desc), "expected N = 16 to 256 in steps of 16 with MN-major "
                         "8-bit B and cta_group::1, found 24");
  desc = plain(MmaKind::I8, MmaType::S8, MmaType::U8, AccumulatorType::S32);
  desc.saturate = true;
  EXPECT_EQ(check(desc), "");
  desc.negateA = true;
  EXPECT_EQ(check(desc), "kind::i8 cannot negate its operands");
  desc = plain(MmaKind::F16, MmaType::F16, MmaType::F16, AccumulatorType::F16);
  EXPECT_EQ(check(desc), "");
  desc.saturate = true;
  EXPECT_EQ(check(desc), "only kind::i8 saturates, found kind::f16");
  desc.saturate = false;
  desc.blockSize = 32;
  EXPECT_EQ(check(desc), "kind::f16 takes no scales");
}

} // namespace
