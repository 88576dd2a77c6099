//===- TensorMapTest.cpp - Tensor maps ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares swizzles with the tables of the ISA, and images with the driver and
// the hardware, and tests the rules for every field.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

/// Transcribes the tables of PTX ISA, "Swizzling Modes": entry [line][position]
/// is the index of the 16-byte chunk at that position.
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

struct Encoded {
  unsigned type, rank;
  uint64_t address;
  std::array<uint64_t, maxTensorRank> dims;
  std::array<uint64_t, maxTensorRank - 1> strides;
  std::array<uint32_t, maxTensorRank> box, elementStrides;
  unsigned interleave, swizzle, l2, oob;
  std::string_view image;
};
struct Replaced {
  std::string_view field;
  unsigned ordinal;
  uint64_t value;
  std::string_view inZeros, inOnes;
};
#include "TensorMapHardware.inc"

std::string hexOf(const uint8_t *bytes, size_t count) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

/// Encodes maps, compares the images with the driver's, and decodes the images.
/// Maps that the driver rejects must be rejected.
TEST(TensorMap, ImagesMatchTheDriver) {
  unsigned good = 0, refused = 0;
  for (const Encoded &row : encoded) {
    SCOPED_TRACE(&row - encoded);
    TensorMapDesc map;
    map.globalAddress = row.address;
    map.type = TmapType(row.type);
    map.rank = row.rank;
    map.dims = row.dims;
    map.strides = row.strides;
    map.box = row.box;
    map.elementStrides = row.elementStrides;
    map.interleave = TmapInterleave(row.interleave);
    map.swizzle = TmapSwizzle(row.swizzle);
    map.l2 = TmapL2(row.l2);
    map.oob = TmapOob(row.oob);
    // With interleave 32B the manual allows only swizzle 32B, but this driver
    // accepts others.
    bool isTolerated = map.interleave == TmapInterleave::B32 &&
                       map.swizzle != TmapSwizzle::B32;
    EXPECT_EQ(validate(map).empty(), !row.image.empty() && !isTolerated)
        << validate(map);
    if (row.image.empty()) {
      ++refused;
      continue;
    }
    ++good;
    uint8_t image[tensorMapBytes];
    encodeTensorMap(map, image);
    EXPECT_EQ(hexOf(image, row.image.size() / 2), row.image);
    TensorMapDesc back;
    ASSERT_EQ(decodeTensorMap(image, back), "");
    uint8_t again[tensorMapBytes];
    encodeTensorMap(back, again);
    EXPECT_EQ(hexOf(again, sizeof again), hexOf(image, sizeof image));
    EXPECT_EQ(back.globalAddress, map.globalAddress);
    EXPECT_TRUE(back.type == map.type && back.rank == map.rank &&
                back.interleave == map.interleave &&
                back.swizzle == map.swizzle && back.l2 == map.l2 &&
                back.oob == map.oob);
    for (unsigned i = 0; i < map.rank; ++i) {
      EXPECT_EQ(back.dims[i], map.dims[i]);
      EXPECT_EQ(back.box[i], map.box[i]);
      EXPECT_EQ(back.elementStrides[i], map.elementStrides[i]);
      EXPECT_TRUE(i + 1 == map.rank || back.strides[i] == map.strides[i]);
    }
    // The hardware only reads the first 64 bytes.
    std::memset(image + 64, 0xFF, 64);
    ASSERT_EQ(decodeTensorMap(image, back), "");
    encodeTensorMap(back, again);
    EXPECT_EQ(hexOf(again, 64), hexOf(image, 64));
  }
  EXPECT_GT(good, 200u);
  EXPECT_GT(refused, 80u);
}

/// Returns the words of `image` that differ from `was`, such as "13=00000007".
std::string changes(const uint8_t *image, uint32_t was) {
  std::string text;
  for (unsigned i = 0; i < tensorMapBytes / 4; ++i) {
    uint32_t word;
    std::memcpy(&word, image + 4 * i, sizeof word);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%s%u=%08x", text.empty() ? "" : " ",
                  i, word);
    text += word != was ? digits : "";
  }
  return text;
}

TEST(TensorMap, ReplacedFieldsMatchTheHardware) {
  for (const Replaced &row : replaced)
    for (uint32_t was : {0u, ~0u}) {
      uint8_t image[tensorMapBytes];
      std::memset(image, int(was), sizeof image);
      TensorMapField field;
      ASSERT_TRUE(parseTensorMapField(row.field, field)) << row.field;
      EXPECT_EQ(replaceTensorMapField(image, field, row.ordinal, row.value),
                "");
      EXPECT_EQ(changes(image, was), was ? row.inOnes : row.inZeros)
          << row.field << " " << row.ordinal << " " << row.value;
    }
}

/// Combinations without a reference from the H200 must survive a round trip.
TEST(TensorMap, ImagesOfAllTypesAndSwizzlesRoundTrip) {
  for (unsigned type = 0; type < 16; ++type)
    for (unsigned swizzle = 0; swizzle < 7; ++swizzle) {
      TensorMapDesc map = matrix(128, 256, 1024, 128, 32), back;
      map.type = TmapType(type);
      map.swizzle = TmapSwizzle(swizzle);
      uint8_t image[tensorMapBytes];
      encodeTensorMap(map, image);
      ASSERT_EQ(decodeTensorMap(image, back), "");
      EXPECT_TRUE(back.type == map.type && back.swizzle == map.swizzle);
    }
}

TEST(TensorMap, ReportsInvalidImages) {
  uint8_t good[tensorMapBytes], image[tensorMapBytes];
  encodeTensorMap(matrix(128, 256, 1024, 64, 32), good);
  const std::string what =
      "the 128 bytes are not a tensor map for tiled copies: ";
  auto flipped = [&](std::initializer_list<unsigned> bits) {
    std::memcpy(image, good, sizeof image);
    for (unsigned bit : bits)
      image[bit / 8] ^= 1u << bit % 8;
    TensorMapDesc map;
    return decodeTensorMap(image, map);
  };
  EXPECT_EQ(flipped({64}), what + "bit 64, which marks im2col maps, is 1");
  EXPECT_EQ(flipped({70}), what + "rank 6"); // 2 is stored as 1
  EXPECT_EQ(flipped({72, 73, 74}), what + "type 14");
  EXPECT_EQ(flipped({80}), what + "type 0 rounded to tf32");
  EXPECT_EQ(flipped({75, 76}), what + "interleave 3");
  EXPECT_EQ(flipped({86}), what + "swizzle mode 4 with atomicity 0");
  EXPECT_EQ(flipped({83}), what + "swizzle mode 0 with atomicity 1");
  TensorMapDesc map;
  std::memset(image, 0, sizeof image);
  EXPECT_EQ(decodeTensorMap(image, map), what + "all bytes are zero");
}

TEST(TensorMap, ReplaceReportsInvalidValues) {
  uint8_t image[tensorMapBytes];
  encodeTensorMap(matrix(128, 256, 1024, 64, 32), image);
  auto set = [&](const char *name, unsigned ordinal, uint64_t value) {
    TensorMapField field;
    EXPECT_TRUE(parseTensorMapField(name, field)) << name;
    return replaceTensorMapField(image, field, ordinal, value);
  };
  EXPECT_EQ(set("elemtype", 0, 10), ""); // .bf16 is 10 here, 9 in the driver
  EXPECT_EQ(set("swizzle_mode", 0, 3), "");
  EXPECT_EQ(set("swizzle_atomicity", 0, 1), "");
  TensorMapDesc map;
  ASSERT_EQ(decodeTensorMap(image, map), "");
  EXPECT_EQ(map.type, TmapType::BF16);
  EXPECT_EQ(map.swizzle, TmapSwizzle::B128Atom32);
  EXPECT_EQ(set("swizzle_mode", 0, 1), "");
  EXPECT_NE(decodeTensorMap(image, map), "") << "32B has no atomicity";
  const std::string what = "tensormap.replace .";
  EXPECT_EQ(set("rank", 0, 5), what + "rank must be 0 to 4, got 5");
  EXPECT_EQ(set("box_dim", 1, 0), what + "box_dim must be 1 to 256, got 0");
  EXPECT_EQ(set("box_dim", 1, 257), what + "box_dim must be 1 to 256, got 257");
  EXPECT_EQ(set("element_stride", 1, 9),
            what + "element_stride must be 1 to 8, got 9");
  EXPECT_EQ(set("global_stride", 0, 40),
            what + "global_stride must be a multiple of 16 from 0 to "
                   "1099511627760, got 40");
  EXPECT_NE(set("global_stride", 0, uint64_t{1} << 40), "");
  EXPECT_NE(set("global_stride", 4, 16), "");
  EXPECT_NE(set("elemtype", 0, 16), "");
  EXPECT_EQ(set("swizzle_mode", 0, 4),
            what + "swizzle_mode 4 (96-byte swizzle) exists on sm_103a only, "
                   "and is not simulated");
  EXPECT_EQ(set("global_dim", 0, 0), ""); // the hardware reads 0 as 2^32
  ASSERT_EQ(set("swizzle_mode", 0, 3), "");
  ASSERT_EQ(decodeTensorMap(image, map), "");
  EXPECT_EQ(map.dims[0], uint64_t{1} << 32);
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
  EXPECT_EQ(bad([](M m) {
              m.rank = 3;
              m.dims[2] = 8;
              m.box = {128, 256, 8};
            }),
            "a box has at most 233472 bytes, the shared memory of an SM, got "
            "262144");
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
