//===- TensorMapTest.cpp - tensor maps ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swizzles against the tables of the ISA, and the rules for every field.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

/// The tables of PTX ISA, "Swizzling Modes", typed in: entry [line][position]
/// is the 16-byte chunk found at that position.
TEST(TensorMap, SwizzlesMatchTheTablesOfTheISA) {
  const int b32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
  const int b64[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                         {1, 0, 3, 2, 5, 4, 7, 6},
                         {2, 3, 0, 1, 6, 7, 4, 5},
                         {3, 2, 1, 0, 7, 6, 5, 4}};
  const int b128[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
                          {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
                          {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                          {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  const int atom32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                            {2, 3, 0, 1, 6, 7, 4, 5},
                            {4, 5, 6, 7, 0, 1, 2, 3},
                            {6, 7, 4, 5, 2, 3, 0, 1}};
  const int atom64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};
  auto check = [](TmapSwizzle swizzle, auto &table) {
    constexpr unsigned lines = sizeof(table) / sizeof(table[0]);
    for (unsigned line = 0; line < 4 * lines; ++line)
      for (unsigned position = 0; position < 8; ++position)
        EXPECT_EQ(
            swizzleAddress(swizzle,
                           line * 128 + table[line % lines][position] * 16 + 5),
            line * 128 + position * 16 + 5);
  };
  check(TmapSwizzle::B32, b32);
  check(TmapSwizzle::B64, b64);
  check(TmapSwizzle::B128, b128);
  check(TmapSwizzle::B128Atom32, atom32);
  check(TmapSwizzle::B128Atom64, atom64);
}

TEST(TensorMap, AllSwizzlesAreBijective) {
  for (unsigned s = 0; s < 7; ++s) {
    std::vector<bool> hit(2048);
    for (uint32_t a = 0; a < 2048; ++a)
      hit[swizzleAddress(static_cast<TmapSwizzle>(s), a)] = true;
    EXPECT_EQ(std::count(hit.begin(), hit.end(), true), 2048) << s;
  }
}

TEST(TensorMap, ImageRoundTripsAndRecognisesGarbage) {
  TensorMapDesc map = matrix(128, 256, 1024, 64, 32);
  map.rank = 5;
  map.dims = {128, 256, 3, 4, uint64_t{1} << 32};
  map.strides = {1024, 1 << 20, 16, (uint64_t{1} << 40) - 16};
  map.box = {64, 32, 1, 2, 256};
  map.elementStrides = {1, 2, 3, 4, 8};
  map.type = TmapType::BF16;
  map.swizzle = TmapSwizzle::B128Atom32Flip8;
  map.oob = TmapOob::Nan;
  map.l2 = TmapL2::B256;
  uint8_t image[tensorMapBytes];
  encodeTensorMap(map, image);
  TensorMapDesc back;
  ASSERT_EQ(decodeTensorMap(image, back), "");
  EXPECT_EQ(back.dims, map.dims);
  EXPECT_EQ(back.strides, map.strides);
  EXPECT_EQ(back.box, map.box);
  EXPECT_EQ(back.elementStrides, map.elementStrides);
  EXPECT_EQ(back.globalAddress, map.globalAddress);
  EXPECT_TRUE(back.type == map.type && back.swizzle == map.swizzle &&
              back.oob == map.oob && back.l2 == map.l2 && back.rank == 5);
  image[127] ^= 1;
  EXPECT_NE(decodeTensorMap(image, back), "");
  std::memset(image, 0, sizeof(image));
  EXPECT_EQ(decodeTensorMap(image, back),
            "the 128 bytes are no tensor map (begin with 0x0, end with 0x0)");
}

TEST(TensorMap, ReplaceChangesFields) {
  uint8_t image[tensorMapBytes];
  encodeTensorMap(matrix(128, 256, 1024, 64, 32), image);
  auto set = [&](const char *name, unsigned ordinal, uint64_t value) {
    TensorMapField field;
    EXPECT_TRUE(parseTensorMapField(name, field)) << name;
    return replaceTensorMapField(image, field, ordinal, value);
  };
  EXPECT_EQ(set("global_address", 0, 0x123450), "");
  EXPECT_EQ(set("rank", 0, 2), "");
  EXPECT_EQ(set("box_dim", 2, 7), "");
  EXPECT_EQ(set("global_dim", 2, 9), "");
  EXPECT_EQ(set("global_stride", 1, 4096), "");
  EXPECT_EQ(set("element_stride", 2, 2), "");
  EXPECT_EQ(set("elemtype", 0, 10), ""); // .bf16 is 10 here, 9 in the driver
  EXPECT_EQ(set("swizzle_mode", 0, 3), "");
  EXPECT_EQ(set("swizzle_atomicity", 0, 1), "");
  EXPECT_EQ(set("fill_mode", 0, 1), "");
  TensorMapDesc map;
  ASSERT_EQ(decodeTensorMap(image, map), "");
  EXPECT_EQ(map.globalAddress, 0x123450u);
  EXPECT_EQ(map.rank, 3u);
  EXPECT_EQ(map.box[2], 7u);
  EXPECT_EQ(map.dims[2], 9u);
  EXPECT_EQ(map.strides[1], 4096u);
  EXPECT_EQ(map.elementStrides[2], 2u);
  EXPECT_EQ(map.type, TmapType::BF16);
  EXPECT_EQ(map.swizzle, TmapSwizzle::B128Atom32);
  EXPECT_EQ(map.oob, TmapOob::Nan);
  EXPECT_EQ(set("swizzle_mode", 0, 1), "");
  EXPECT_NE(decodeTensorMap(image, map), "") << "32b swizzle has no atomicity";
  EXPECT_NE(set("rank", 0, 5), "");
  EXPECT_NE(set("global_stride", 4, 16), "");
  EXPECT_NE(set("swizzle_mode", 0, 4), "");
  image[0] = 0;
  EXPECT_NE(set("rank", 0, 1), "");
}

TEST(TensorMap, ValidatesEachConstraint) {
  TensorMapDesc good = matrix(128, 256, 1024, 64, 32);
  ASSERT_EQ(validate(good), "");
  auto bad = [&](auto edit) {
    TensorMapDesc map = good;
    edit(map);
    return validate(map);
  };
  using M = TensorMapDesc &;
  EXPECT_EQ(bad([](M m) { m.rank = 6; }), "rank must be 1 to 5, got 6");
  EXPECT_NE(bad([](M m) { m.rank = 0; }), "");
  EXPECT_EQ(bad([](M m) { m.globalAddress += 8; }),
            "global address must be aligned to 16 bytes, got 0x10008");
  EXPECT_EQ(bad([](M m) { m.dims[1] = 0; }),
            "dims[1] must be 1 to 2^32, got 0");
  EXPECT_NE(bad([](M m) { m.dims[0] = (uint64_t{1} << 32) + 1; }), "");
  EXPECT_EQ(bad([](M m) { m.strides[0] = 1000; }),
            "strides[0] must be a multiple of 16 bytes, got 1000");
  EXPECT_NE(bad([](M m) { m.strides[0] = uint64_t{1} << 40; }), "");
  EXPECT_EQ(bad([](M m) { m.box[1] = 257; }),
            "box[1] must be 1 to 256, got 257");
  EXPECT_EQ(bad([](M m) { m.box[0] = 24; }),
            "box[0] must be a multiple of 16 bytes, got 24 elements of 8 bits");
  EXPECT_EQ(bad([](M m) { m.elementStrides[1] = 9; }),
            "element_strides[1] must be 1 to 8, got 9");
  EXPECT_NE(bad([](M m) { m.elementStrides[0] = 9; }), "");
  EXPECT_EQ(bad([](M m) { m.elementStrides[0] = 8; }), "") << "ignored";
  EXPECT_EQ(bad([](M m) { m.strides[0] = 64; }), "") << "rows may overlap";
  EXPECT_EQ(bad([](M m) { m.swizzle = TmapSwizzle::B32; }),
            "box[0] must be at most the 32 bytes of swizzle 32b, got 64 bytes");
  EXPECT_EQ(bad([](M m) { m.oob = TmapOob::Nan; }),
            "oob nan needs a floating-point type, got u8");
  EXPECT_NE(bad([](M m) { m.interleave = TmapInterleave::B16; }), "");
  auto packed = [](M m) {
    m.type = TmapType::U6Align16;
    m.box[0] = 128;
    m.swizzle = TmapSwizzle::B128;
  };
  EXPECT_EQ(bad(packed), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.box[0] = 64; }), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.dims[0] = 192; }), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.strides[0] = 1040; }), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.globalAddress += 16; }), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.swizzle = TmapSwizzle::B64; }), "");
  EXPECT_NE(bad([&](M m) { packed(m), m.oob = TmapOob::Nan; }), "");
  EXPECT_NE(bad([&](M m) { m.type = TmapType::U4Align8, m.dims[0] = 129; }),
            "");
}

} // namespace
