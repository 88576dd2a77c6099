//===- DescriptorsTest.cpp - Matrix and instruction descriptors -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Decodes descriptors by the bit ranges of the PTX ISA, written here
// independently of the library.
//===----------------------------------------------------------------------===//

#include "mx/Target/Descriptors.h"
#include "RandomDescriptor.h"
#include "gtest/gtest.h"
#include <random>

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

constexpr std::pair<Swizzle, unsigned> kTcgen05Layouts[] = {
    {Swizzle::None, 0},
    {Swizzle::B128Atom32, 1},
    {Swizzle::B128, 2},
    {Swizzle::B64, 4},
    {Swizzle::B32, 6}};
constexpr std::pair<Swizzle, unsigned> kWgmmaLayouts[] = {{Swizzle::None, 0},
                                                          {Swizzle::B128, 1},
                                                          {Swizzle::B64, 2},
                                                          {Swizzle::B32, 3}};

TEST(SmemDescriptor, EveryField) {
  std::mt19937 engine(1);
  for (int i = 0; i < 20000; ++i) {
    auto [swizzle, layout] = kTcgen05Layouts[engine() % 5];
    SmemDescriptor desc;
    desc.address = engine() % 0x4000 * 16;
    desc.leadingByteOffset = engine() % 0x4000 * 16;
    desc.strideByteOffset = engine() % 0x4000 * 16;
    desc.baseOffset = engine() % 8;
    desc.swizzle = swizzle;
    ASSERT_EQ(check(desc), "");
    uint64_t word = encode(desc);
    EXPECT_EQ(bits(word, 0, 13), desc.address / 16);
    EXPECT_EQ(bits(word, 14, 15), 0u);
    EXPECT_EQ(bits(word, 16, 29), desc.leadingByteOffset / 16);
    EXPECT_EQ(bits(word, 30, 31), 0u);
    EXPECT_EQ(bits(word, 32, 45), desc.strideByteOffset / 16);
    EXPECT_EQ(bits(word, 46, 48), 1u);
    EXPECT_EQ(bits(word, 49, 51), desc.baseOffset);
    EXPECT_EQ(bits(word, 52, 60), 0u);
    EXPECT_EQ(bits(word, 61, 63), layout);
    // The kernel adds the address to a constant.
    SmemDescriptor constant = desc;
    constant.address = 0;
    EXPECT_EQ(encode(constant) + (desc.address >> 4), word);
  }
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

// Compares addresses with the PTX ISA's canonical K-major layout of 8-bit
// elements, ((8, m), (16, 2)) : ((span, SBO), (1, 16)). The modes are the rows
// in a group of 8, the groups, the bytes in a chunk, and the chunks.
TEST(SmemDescriptor, KMajorOperandsMatchTmaWrites) {
  for (Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    SmemDescriptor desc = kMajorDescriptor(swizzle);
    uint32_t span = getInfo(swizzle).span;
    for (uint32_t row = 0; row < 128; ++row)
      EXPECT_EQ(row / 8 * desc.strideByteOffset + row % 8 * span, row * span);
  }
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

/// Returns the code of a type in the fields atype and btype (PTX ISA, tables of
/// the instruction descriptor).
unsigned typeCode(MmaKind kind, MmaType type) {
  if (kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4)
    return 1;
  switch (type) {
  case MmaType::F16:
    return 0;
  case MmaType::BF16:
    return 1;
  case MmaType::TF32:
    return 2;
  case MmaType::E4M3:
    return 0;
  case MmaType::E5M2:
    return 1;
  case MmaType::E2M3:
    return 3;
  case MmaType::E3M2:
    return 4;
  case MmaType::E2M1:
    return 5;
  case MmaType::U8:
    return 0;
  case MmaType::S8:
    return 1;
  }
  return 7;
}

void checkFields(const InstrDescriptor &desc) {
  uint32_t word = encode(desc);
  bool block = getInfo(desc.kind).blockScaled;
  EXPECT_EQ(bits(word, 0, 2), 0u); // Dense.
  EXPECT_EQ(bits(word, 6, 6), 0u);
  EXPECT_EQ(bits(word, 7, 9), typeCode(desc.kind, desc.a));
  EXPECT_EQ(bits(word, 10, 12), typeCode(desc.kind, desc.b));
  EXPECT_EQ(bits(word, 13, 13), desc.negateA);
  EXPECT_EQ(bits(word, 14, 14), desc.negateB);
  EXPECT_EQ(bits(word, 15, 15), desc.transposeA);
  EXPECT_EQ(bits(word, 16, 16), desc.transposeB);
  EXPECT_EQ(bits(word, 17, 22) * 8, desc.n);
  if (block) {
    EXPECT_EQ(bits(word, 3, 3), 0u);
    EXPECT_EQ(bits(word, 4, 5), desc.scaleIdB);
    EXPECT_EQ(bits(word, 23, 23), desc.scaleFormat == FloatFormat::E8M0);
    EXPECT_EQ(bits(word, 24, 26), 0u);
    EXPECT_EQ(bits(word, 27, 28) * 128, desc.m);
    EXPECT_EQ(bits(word, 29, 30), desc.scaleIdA);
    EXPECT_EQ(bits(word, 31, 31), 0u); // K = 64, or reserved.
  } else {
    EXPECT_EQ(bits(word, 3, 3), desc.saturate);
    EXPECT_EQ(bits(word, 4, 5), desc.d == AccumulatorType::F16   ? 0u
                                : desc.d == AccumulatorType::F32 ? 1u
                                                                 : 2u);
    EXPECT_EQ(bits(word, 23, 23), 0u);
    EXPECT_EQ(bits(word, 24, 28) * 16, desc.m);
    EXPECT_EQ(bits(word, 29, 31), 0u);
  }
}

TEST(InstrDescriptor, EveryFieldOfEveryLegalDescriptor) {
  unsigned legal = 0;
  std::mt19937 engine(2);
  for (int i = 0; i < 2000000; ++i) {
    InstrDescriptor desc = randomDescriptor(engine);
    if (!check(desc).empty())
      continue;
    ++legal;
    checkFields(desc);
  }
  EXPECT_GT(legal, 3000u);
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
