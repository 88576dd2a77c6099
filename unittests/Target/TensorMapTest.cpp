//===- TensorMapTest.cpp - Rules of tiled tensor maps ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tests every rule of cuTensorMapEncodeTiled with a valid and an invalid map,
// checks the messages, and tests the sizes of boxes in shared memory.
//===----------------------------------------------------------------------===//

#include "mx/Target/TensorMap.h"
#include "gtest/gtest.h"
#include <functional>

using namespace mx;
using namespace mx::target;

namespace {

/// Returns a map of 256 x 512 bytes with a 128 x 128 box, like an operand tile
/// of a matmul.
TensorMapDesc operand() {
  TensorMapDesc desc;
  desc.rank = 2;
  desc.dims = {512, 256};
  desc.strides = {512};
  desc.box = {128, 128};
  desc.swizzle = Swizzle::B128;
  return desc;
}

TensorMapDesc padded(TensorMapType type) {
  TensorMapDesc desc = operand();
  desc.type = type;
  desc.strides = {384};
  desc.box = {128, 64};
  return desc;
}

TensorMapDesc interleaved() {
  TensorMapDesc desc;
  desc.rank = 3;
  desc.dims = {32, 16, 16};
  desc.strides = {32, 512};
  desc.box = {32, 4, 4};
  desc.interleave = TensorMapInterleave::B32;
  desc.swizzle = Swizzle::B32;
  return desc;
}

TEST(TensorMap, GoodMaps) {
  EXPECT_EQ(check(operand()), "");
  EXPECT_EQ(check(padded(TensorMapType::U4Align16)), "");
  EXPECT_EQ(check(padded(TensorMapType::U6Align16)), "");
  EXPECT_EQ(check(interleaved()), "");
  TensorMapDesc row; // One dimension with the smallest box.
  row.rank = 1;
  row.dims = {1};
  row.box = {16};
  EXPECT_EQ(check(row), "");
}

TEST(TensorMap, TypesMatchTheDriver) {
  struct {
    TensorMapType type;
    unsigned value, bits, smemBits;
    const char *name;
    bool isFloat;
  } cases[] = {{TensorMapType::U8, 0, 8, 8, "u8", false},
               {TensorMapType::U16, 1, 16, 16, "u16", false},
               {TensorMapType::U32, 2, 32, 32, "u32", false},
               {TensorMapType::I32, 3, 32, 32, "i32", false},
               {TensorMapType::U64, 4, 64, 64, "u64", false},
               {TensorMapType::I64, 5, 64, 64, "i64", false},
               {TensorMapType::F16, 6, 16, 16, "f16", true},
               {TensorMapType::F32, 7, 32, 32, "f32", true},
               {TensorMapType::F64, 8, 64, 64, "f64", true},
               {TensorMapType::BF16, 9, 16, 16, "bf16", true},
               {TensorMapType::F32FTZ, 10, 32, 32, "f32_ftz", true},
               {TensorMapType::TF32, 11, 32, 32, "tf32", true},
               {TensorMapType::TF32FTZ, 12, 32, 32, "tf32_ftz", true},
               {TensorMapType::U4Align8, 13, 4, 4, "u4_align8", false},
               {TensorMapType::U4Align16, 14, 4, 8, "u4_align16", false},
               {TensorMapType::U6Align16, 15, 6, 8, "u6_align16", false}};
  EXPECT_EQ(sizeof(cases) / sizeof(*cases), kNumTensorMapTypes);
  for (const auto &c : cases) {
    EXPECT_EQ(unsigned(c.type), c.value);
    const TensorMapTypeInfo &info = getInfo(c.type);
    EXPECT_EQ(info.type, c.type);
    EXPECT_EQ(info.bits, c.bits);
    EXPECT_EQ(info.smemBits, c.smemBits);
    EXPECT_EQ(info.isFloat, c.isFloat);
    EXPECT_STREQ(info.name, c.name);
  }
  EXPECT_STREQ(getName(TensorMapInterleave::B16), "16b");
  EXPECT_STREQ(getName(TensorMapL2::B256), "256b");
  EXPECT_STREQ(getName(TensorMapFill::NaN), "nan");
}

/// A change to a valid map and the expected message, empty if the map stays
/// valid.
struct Case {
  TensorMapDesc base;
  std::function<void(TensorMapDesc &)> change;
  const char *message;
};

void expectMessages(const std::vector<Case> &cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    TensorMapDesc desc = cases[i].base;
    cases[i].change(desc);
    EXPECT_EQ(check(desc), cases[i].message) << "case " << i;
  }
}

TEST(TensorMap, RankAndAddress) {
  using D = TensorMapDesc;
  expectMessages({
      {operand(), [](D &d) { d.rank = 0; },
       "expected rank from 1 to 5, found 0"},
      {operand(), [](D &d) { d.rank = 6; },
       "expected rank from 1 to 5, found 6"},
      {interleaved(), [](D &d) { d.rank = 2; },
       "expected rank of at least 3 with interleave 32b, found 2"},
      {operand(), [](D &d) { d.globalAddress = 16; }, ""},
      {operand(), [](D &d) { d.globalAddress = 8; },
       "expected global address to be a multiple of 16, found 8"},
      {interleaved(), [](D &d) { d.globalAddress = 16; },
       "expected global address to be a multiple of 32, found 16"},
      {padded(TensorMapType::U4Align16), [](D &d) { d.globalAddress = 48; },
       "expected global address to be a multiple of 32, found 48"},
  });
}

TEST(TensorMap, DimsAndStrides) {
  using D = TensorMapDesc;
  expectMessages({
      {operand(), [](D &d) { d.dims[1] = 0; },
       "expected dim 1 from 1 to 4294967296, found 0"},
      {operand(), [](D &d) { d.dims[1] = uint64_t(1) << 32; }, ""},
      {operand(), [](D &d) { d.dims[1] = (uint64_t(1) << 32) + 1; },
       "expected dim 1 from 1 to 4294967296, found 4294967297"},
      {padded(TensorMapType::U6Align16), [](D &d) { d.dims[0] = 192; },
       "expected dim 0 of type u6_align16 to be a multiple of 128, found 192"},
      {operand(),
       [](D &d) { d.type = TensorMapType::U4Align8, d.dims[0] = 511; },
       "expected dim 0 of type u4_align8 to be a multiple of 2, found 511"},
      {operand(), [](D &d) { d.strides[0] = 520; },
       "expected stride of dim 1 to be a multiple of 16, found 520"},
      {padded(TensorMapType::U6Align16), [](D &d) { d.strides[0] = 400; },
       "expected stride of dim 1 to be a multiple of 32, found 400"},
      {interleaved(), [](D &d) { d.strides[1] = 528; },
       "expected stride of dim 2 to be a multiple of 32, found 528"},
      {operand(), [](D &d) { d.strides[0] = (uint64_t(1) << 40) - 16; }, ""},
      {operand(), [](D &d) { d.strides[0] = uint64_t(1) << 40; },
       "expected stride of dim 1 below 2^40, found 1099511627776"},
      // The driver accepts views with rows that overlap or repeat.
      {operand(), [](D &d) { d.strides[0] = 256; }, ""},
      {operand(), [](D &d) { d.strides[0] = 0; }, ""},
  });
}

TEST(TensorMap, BoxAndElementStrides) {
  using D = TensorMapDesc;
  expectMessages({
      {operand(), [](D &d) { d.box[1] = 256; }, ""},
      {operand(), [](D &d) { d.box[1] = 257; },
       "expected box 1 from 1 to 256, found 257"},
      {operand(), [](D &d) { d.box[0] = 0; },
       "expected box 0 from 1 to 256, found 0"},
      {operand(), [](D &d) { d.box[0] = 24; },
       "expected box 0 to span a multiple of 16 bytes, found 24 elements of "
       "type u8"},
      {operand(), [](D &d) { d.type = TensorMapType::BF16, d.box[0] = 24; },
       ""},
      {interleaved(), [](D &d) { d.box[0] = 24; },
       "expected box 0 to span a multiple of 16 bytes, found 24 elements of "
       "type u8"},
      {padded(TensorMapType::U4Align16), [](D &d) { d.box[0] = 64; },
       "expected box 0 of type u4_align16 to be 128, found 64"},
      {operand(), [](D &d) { d.elementStrides[1] = 8; }, ""},
      {operand(), [](D &d) { d.elementStrides[1] = 9; },
       "expected element stride 1 from 1 to 8, found 9"},
      {operand(), [](D &d) { d.elementStrides[0] = 0; },
       "expected element stride 0 from 1 to 8, found 0"},
      // The limit is 228 KiB. Seven times 128 * 256 bytes fit, eight times do
      // not.
      {operand(),
       [](D &d) {
         d.rank = 3, d.dims[2] = 8, d.strides[1] = 131072;
         d.box = {128, 256, 7};
       },
       ""},
      {operand(),
       [](D &d) {
         d.rank = 3, d.dims[2] = 8, d.strides[1] = 131072;
         d.box = {128, 256, 8};
       },
       "expected a box of at most 233472 bytes, found 262144"},
  });
}

TEST(TensorMap, SwizzleInterleaveAndFill) {
  using D = TensorMapDesc;
  expectMessages({
      {operand(), [](D &d) { d.box[0] = 144; },
       "expected box 0 of at most 128 bytes with swizzle 128b, found 144"},
      {operand(), [](D &d) { d.swizzle = Swizzle::B64; },
       "expected box 0 of at most 64 bytes with swizzle 64b, found 128"},
      {operand(), [](D &d) { d.swizzle = Swizzle::None, d.box[0] = 256; }, ""},
      {operand(),
       [](D &d) { d.type = TensorMapType::U4Align8, d.box[0] = 256; }, ""},
      {interleaved(), [](D &d) { d.swizzle = Swizzle::B64; },
       "expected swizzle 32b with interleave 32b, found 64b"},
      {interleaved(),
       [](D &d) {
         d.type = TensorMapType::U6Align16, d.dims[0] = d.box[0] = 128;
         d.interleave = TensorMapInterleave::B16;
       },
       "expected interleave none with type u6_align16, found 16b"},
      {padded(TensorMapType::U4Align16),
       [](D &d) { d.swizzle = Swizzle::B128Atom64; },
       "expected a swizzle that type u4_align16 supports, found 128b_atom64"},
      {padded(TensorMapType::U6Align16),
       [](D &d) { d.swizzle = Swizzle::B128Atom64; }, ""},
      {padded(TensorMapType::U6Align16), [](D &d) { d.swizzle = Swizzle::B32; },
       "expected a swizzle that type u6_align16 supports, found 32b"},
      {operand(),
       [](D &d) {
         d.type = TensorMapType::BF16, d.box[0] = 64;
         d.fill = TensorMapFill::NaN;
       },
       ""},
      {operand(), [](D &d) { d.fill = TensorMapFill::NaN; },
       "expected a floating-point type with out-of-bounds fill nan, found type "
       "u8"},
  });
}

TEST(TensorMap, BytesOfABox) {
  TensorMapDesc desc = operand();
  EXPECT_EQ(boxTransactionBytes(desc), 128u * 128);
  // Gaps are not counted if the box is narrower than the swizzle span.
  desc.box[0] = 64;
  EXPECT_EQ(boxTransactionBytes(desc), 64u * 128);
  desc.swizzle = Swizzle::None;
  desc.elementStrides = {4, 3}; // The first is ignored.
  EXPECT_EQ(boxElements(desc, 0), 64u);
  EXPECT_EQ(boxElements(desc, 1), 43u);
  EXPECT_EQ(boxTransactionBytes(desc), 64u * 43);
  // Packed bytes are transferred without padding.
  EXPECT_EQ(boxTransactionBytes(padded(TensorMapType::U4Align16)), 64u * 64);
  EXPECT_EQ(boxTransactionBytes(padded(TensorMapType::U6Align16)), 64u * 96);
  TensorMapDesc nibbles = operand();
  nibbles.type = TensorMapType::U4Align8;
  nibbles.box[0] = 256;
  EXPECT_EQ(boxTransactionBytes(nibbles), 128u * 128);
}

} // namespace
