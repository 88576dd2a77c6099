//===- TensorTmaTest.cpp - Tile copies through tensor maps ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares loads and stores with byte-by-byte transcriptions of the layout
// rules.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

struct LoadCase {
  TmapSwizzle swizzle;
  TmapType type;
  uint32_t box0;
};

/// Returns the address of byte `b` in the 8-byte-flip pattern, which the ISA
/// defines as the 32-byte-atom pattern with halves of 16 bytes exchanged on
/// every other line.
uint32_t expectedAddress(TmapSwizzle s, uint32_t L) {
  uint32_t line = L >> 7;
  switch (s) {
  case TmapSwizzle::None:
    return L;
  case TmapSwizzle::B32:
    return L ^ (line % 2) * 16;
  case TmapSwizzle::B64:
    return L ^ (line % 4) * 16;
  case TmapSwizzle::B128:
    return L ^ (line % 8) * 16;
  case TmapSwizzle::B128Atom32:
    return L ^ (line % 4) * 32;
  case TmapSwizzle::B128Atom32Flip8:
    return L ^ (line % 4) * 32 ^ (line % 2) * 8;
  case TmapSwizzle::B128Atom64:
    return L ^ (line % 2) * 64;
  }
  return L;
}

TEST(Tma, LoadsMatchTheRuleByteByByte) {
  std::mt19937 random(5);
  const LoadCase cases[] = {
      {TmapSwizzle::None, TmapType::U8, 48},
      {TmapSwizzle::None, TmapType::F16, 24},
      {TmapSwizzle::None, TmapType::U64, 200},
      {TmapSwizzle::B32, TmapType::U8, 32},
      {TmapSwizzle::B32, TmapType::U8, 16}, // narrower than the span
      {TmapSwizzle::B64, TmapType::F32, 16},
      {TmapSwizzle::B128, TmapType::U8, 128},
      {TmapSwizzle::B128, TmapType::BF16, 40},
      {TmapSwizzle::B128Atom32, TmapType::F32, 32},
      {TmapSwizzle::B128Atom32Flip8, TmapType::U8, 128},
      {TmapSwizzle::B128Atom64, TmapType::U8, 128},
  };
  for (const LoadCase &c : cases)
    for (int round = 0; round < 30; ++round) {
      unsigned size = elementBits(c.type) / 8;
      TensorMapDesc map;
      map.globalAddress = FlatMemory::base + 32;
      map.type = c.type;
      map.swizzle = c.swizzle;
      map.rank = 3;
      map.dims = {1 + random() % 250, 1 + random() % 12, 1 + random() % 5};
      uint64_t row = (map.dims[0] * size + 15) / 16 * 16 + 16;
      map.strides = {row, row * (map.dims[1] + 1)};
      map.box = {c.box0, uint32_t(1 + random() % 9),
                 uint32_t(1 + random() % 3)};
      map.elementStrides = {1, uint32_t(1 + random() % 3), 1};
      if (isFloat(c.type) && round % 2)
        map.oob = TmapOob::Nan;
      ASSERT_EQ(validate(map), "");
      FlatMemory global(32 + map.strides[1] * map.dims[2]);
      for (uint8_t &byte : global.bytes)
        byte = random();
      std::vector<uint8_t> shared(64 << 10, 0xEE), expected = shared;
      SharedMemory window{shared.data(), 64 << 10, nullptr};
      int32_t at[3];
      for (int i = 0; i < 3; ++i)
        at[i] = int32_t(random() % (map.dims[i] + 8)) - 4;
      at[0] &= -int32_t(16 / size); // unaligned boxes are illegal
      uint32_t destination = 128 * (random() % 8);

      unsigned span = swizzleSpan(c.swizzle);
      uint32_t pitch = span ? span : c.box0 * size;
      uint32_t line = 0;
      uint64_t bytes = 0;
      unsigned rows1 =
          (map.box[1] + map.elementStrides[1] - 1) / map.elementStrides[1];
      for (unsigned z = 0; z < map.box[2]; ++z)
        for (unsigned y = 0; y < rows1; ++y, ++line)
          for (unsigned x = 0; x < c.box0; ++x)
            for (unsigned b = 0; b < size; ++b, ++bytes) {
              int64_t cx = at[0] + int64_t(x);
              int64_t cy = at[1] + int64_t(y) * map.elementStrides[1];
              int64_t cz = at[2] + int64_t(z);
              bool inside =
                  cx >= 0 && cy >= 0 && cz >= 0 && cx < int64_t(map.dims[0]) &&
                  cy < int64_t(map.dims[1]) && cz < int64_t(map.dims[2]);
              uint8_t value = map.oob == TmapOob::Zero ? 0
                              : b % 2                  ? 0x7F
                                                       : 0xF7;
              if (inside)
                value = global.bytes[32 + cz * map.strides[1] +
                                     cy * map.strides[0] + cx * size + b];
              expected[expectedAddress(c.swizzle, destination + line * pitch +
                                                      x * size + b)] = value;
            }
      TmaResult result = tmaLoad(map, at, global, window, destination);
      ASSERT_FALSE(result.fault) << result.fault.message;
      ASSERT_EQ(result.bytes, bytes);
      ASSERT_EQ(tmaTransactionBytes(map), bytes);
      ASSERT_TRUE(shared == expected) << name(c.swizzle) << " " << round;

      // A store writes the part of the tile inside the tensor. As measured on
      // an H200, it also writes the rest of the last 16 bytes of a row, and a
      // box that begins before the tensor is an illegal instruction.
      FlatMemory target(global.bytes.size());
      std::vector<uint8_t> want(global.bytes.size());
      for (unsigned z = 0; z < map.box[2]; ++z)
        for (unsigned y = 0; y < rows1; ++y)
          for (unsigned x = 0; x < c.box0 * size; ++x) {
            int64_t cx = at[0] * int64_t(size) + x;
            int64_t cy = at[1] + int64_t(y) * map.elementStrides[1];
            int64_t cz = at[2] + int64_t(z);
            int64_t rowBytes = map.dims[0] * size;
            int64_t end = (rowBytes + 15) / 16 * 16;
            if (cx >= 0 && cy >= 0 && cz >= 0 && cx < end &&
                at[0] * int64_t(size) < rowBytes && cy < int64_t(map.dims[1]) &&
                cz < int64_t(map.dims[2])) {
              size_t i = 32 + cz * map.strides[1] + cy * map.strides[0] + cx;
              uint8_t outside = map.oob == TmapOob::Zero ? 0
                                : x % 2                  ? 0x7F
                                                         : 0xF7;
              want[i] = cx < rowBytes ? global.bytes[i] : outside;
            }
          }
      TmaResult stored = tmaStore(map, at, target, window, destination);
      if (at[0] < 0 || at[1] < 0 || at[2] < 0) {
        ASSERT_TRUE(stored.fault);
        continue;
      }
      ASSERT_FALSE(stored.fault) << stored.fault.message;
      ASSERT_TRUE(target.bytes == want);
    }
}

TEST(Tma, UnpacksFourAndSixBitTypes) {
  std::mt19937 random(6);
  struct {
    TmapType type;
    unsigned bits;
    TmapSwizzle swizzle;
  } const cases[] = {{TmapType::U4Align16, 4, TmapSwizzle::B128},
                     {TmapType::U4Align16, 4, TmapSwizzle::None},
                     {TmapType::U6Align16, 6, TmapSwizzle::B128},
                     {TmapType::U6Align16, 6, TmapSwizzle::B128Atom32}};
  for (const auto &c : cases) {
    TensorMapDesc map = matrix(256, 20, 192, 128, 16);
    map.type = c.type;
    map.swizzle = c.swizzle;
    FlatMemory global(192 * 20);
    for (uint8_t &byte : global.bytes)
      byte = random();
    std::vector<uint8_t> shared(4096, 0xEE);
    SharedMemory window{shared.data(), 4096, nullptr};
    int32_t at[2] = {128, 10};
    TmaResult result = tmaLoad(map, at, global, window, 1024);
    ASSERT_FALSE(result.fault) << result.fault.message;
    EXPECT_EQ(result.bytes, 16 * 128 * c.bits / 8) << "packed bytes";
    auto bit = [](const uint8_t *p, unsigned i) {
      return p[i / 8] >> i % 8 & 1;
    };
    for (unsigned r = 0; r < 16; ++r)
      for (unsigned e = 0; e < 128; ++e) {
        uint32_t slot =
            expectedAddress(c.swizzle, 1024 + r * 128 + e / 16 * 16);
        for (unsigned b = 0; b < c.bits; ++b) {
          bool want = r + 10 < 20 && bit(&global.bytes[(r + 10) * 192],
                                         (128 + e) * c.bits + b);
          ASSERT_EQ(bit(&shared[slot], e % 16 * c.bits + b), want);
        }
        // The padding is unchanged.
        ASSERT_EQ(shared[slot + 15], 0xEE);
      }
    at[0] = 64;
    EXPECT_EQ(tmaLoad(map, at, global, window, 1024).fault.kind,
              FaultKind::Alignment);
    at[0] = 0;
    at[1] = 4;
    if (c.type == TmapType::U4Align16) {
      EXPECT_EQ(tmaStore(map, at, global, window, 1024).fault.kind,
                FaultKind::Descriptor);
      continue;
    }
    // The box was loaded at row 10 and is stored at row 4.
    FlatMemory target(192 * 20);
    at[1] = 10;
    int32_t from[2] = {128, 10};
    ASSERT_FALSE(tmaStore(map, from, target, window, 1024).fault);
    for (unsigned r = 10; r < 20; ++r)
      for (unsigned b = 0; b < 96; ++b)
        ASSERT_EQ(target.bytes[r * 192 + 96 + b],
                  global.bytes[r * 192 + 96 + b]);
  }
}

TEST(Tma, GatherAndScatterTakeFourRows) {
  std::mt19937 random(7);
  FlatMemory global(64 * 30);
  for (uint8_t &byte : global.bytes)
    byte = random();
  TensorMapDesc map = matrix(64, 30, 64, 32, 1);
  map.swizzle = TmapSwizzle::B32;
  std::vector<uint8_t> shared(2048, 0xEE);
  SharedMemory window{shared.data(), 2048, nullptr};
  int32_t rows[4] = {29, 3, -1, 30};
  TmaResult result = tmaGather4(map, 16, rows, global, window, 128);
  ASSERT_FALSE(result.fault) << result.fault.message;
  EXPECT_EQ(result.bytes, 128u);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned b = 0; b < 32; ++b)
      EXPECT_EQ(shared[expectedAddress(TmapSwizzle::B32, 128 + r * 32 + b)],
                r < 2 ? global.bytes[rows[r] * 64 + 16 + b] : 0);
  FlatMemory target(64 * 30);
  ASSERT_FALSE(tmaScatter4(map, 16, rows, target, window, 128).fault);
  for (unsigned i = 0; i < target.bytes.size(); ++i) {
    bool written = (i / 64 == 29 || i / 64 == 3) && i % 64 >= 16 && i % 64 < 48;
    EXPECT_EQ(target.bytes[i], written ? global.bytes[i] : 0);
  }
  map.box[1] = 2;
  EXPECT_EQ(tmaGather4(map, 0, rows, global, window, 0).fault.message,
            "gather4 and scatter4 need box[1] of 1, got 2");
}

// The inputs and outputs were measured on an H200.
TEST(Tma, ReducesAsMeasuredOnHardware) {
  FlatMemory global(64);
  std::vector<uint8_t> shared(128);
  SharedMemory window{shared.data(), 128, nullptr};
  int32_t at[2] = {0, 0};
  const uint32_t a[4] = {1, 0x3F800000, 0x7FC00000, 0x80000000};
  const uint32_t b[4] = {1, 0x33800000, 0x3F800000, 0x80000000};
  const uint32_t sum[4] = {2, 0x3F800000, 0x7FFFFFFF, 0x80000000};
  TensorMapDesc map = matrix(4, 1, 16, 4, 1);
  for (TmapType type : {TmapType::F32, TmapType::F32Ftz}) {
    map.type = type;
    std::memcpy(global.bytes.data(), a, 16);
    std::memcpy(shared.data(), b, 16);
    ASSERT_FALSE(tmaReduce(ReduceOp::Add, map, at, global, window, 0).fault);
    uint32_t got[4];
    std::memcpy(got, global.bytes.data(), 16);
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(got[i], i == 0 && type == TmapType::F32Ftz ? 0 : sum[i]);
  }
  const uint16_t x[8] = {0x3C00, 0x3C00, 0x0001, 0x7E00,
                         0x7E00, 0x8000, 0x0000, 0x7BFF};
  const uint16_t y[8] = {0x1000, 0x1400, 0x0001, 0x3C00,
                         0x7D01, 0x0000, 0x8000, 0x7BFF};
  struct {
    TmapType type;
    ReduceOp op;
    uint16_t want[8];
  } const half[] = {
      {TmapType::F16,
       ReduceOp::Add,
       {0x3C00, 0x3C01, 2, 0x7FFF, 0x7FFF, 0, 0, 0x7C00}},
      {TmapType::F16,
       ReduceOp::Min,
       {0x1000, 0x1400, 1, 0x3C00, 0x7FFF, 0x8000, 0x8000, 0x7BFF}},
      {TmapType::F16,
       ReduceOp::Max,
       {0x3C00, 0x3C00, 1, 0x3C00, 0x7FFF, 0, 0, 0x7BFF}},
      {TmapType::BF16,
       ReduceOp::Add,
       {0x3C00, 0x3C00, 2, 0x7E00, 0x7E20, 0, 0, 0x7C7F}},
      {TmapType::BF16,
       ReduceOp::Min,
       {0x1000, 0x1400, 1, 0x3C00, 0x7D01, 0x8000, 0x8000, 0x7BFF}},
      {TmapType::BF16,
       ReduceOp::Max,
       {0x3C00, 0x3C00, 1, 0x7E00, 0x7E00, 0, 0, 0x7BFF}},
  };
  map = matrix(8, 1, 16, 8, 1);
  for (const auto &c : half)
    for (bool swapped : {false, true}) {
      map.type = c.type;
      std::memcpy(global.bytes.data(), swapped ? y : x, 16);
      std::memcpy(shared.data(), swapped ? x : y, 16);
      ASSERT_FALSE(tmaReduce(c.op, map, at, global, window, 0).fault);
      EXPECT_EQ(std::memcmp(global.bytes.data(), c.want, 16), 0)
          << name(c.type) << " " << int(c.op);
    }
}

TEST(Tma, ReportsFaults) {
  FlatMemory global(1024);
  std::vector<uint8_t> shared(4096);
  SharedMemory window{shared.data(), 4096, nullptr};
  TensorMapDesc map = matrix(32, 64, 32, 32, 16);
  int32_t at[2] = {0, 0};
  EXPECT_FALSE(tmaLoad(map, at, global, window, 0).fault);
  EXPECT_EQ(tmaLoad(map, at, global, window, 64).fault.kind,
            FaultKind::Alignment);
  EXPECT_EQ(tmaLoad(map, at, global, window, 3968).fault.kind,
            FaultKind::Bounds);
  at[0] = 8;
  EXPECT_EQ(tmaLoad(map, at, global, window, 0).fault.message,
            "coordinate 0 of a tensor map of type u8 must be a multiple of 16, "
            "got 8");
  EXPECT_EQ(tmaStore(map, at, global, window, 0).fault.kind,
            FaultKind::Alignment);
  at[0] = 0;
  at[1] = 40; // inside the tensor, which is larger than the memory
  Fault fault = tmaLoad(map, at, global, window, 0).fault;
  EXPECT_EQ(fault.kind, FaultKind::Bounds);
  EXPECT_EQ(fault.message, "tensor copy reads 32 bytes at global address "
                           "66816, which is not accessible memory");
  map.box[0] = 24;
  EXPECT_EQ(tmaLoad(map, at, global, window, 0).fault.kind,
            FaultKind::Descriptor);
  EXPECT_EQ(bulkLoad(global, FlatMemory::base + 8, window, 0, 16).fault.message,
            "bulk copy source address must be a multiple of 16, got 65544");
  EXPECT_EQ(bulkLoad(global, FlatMemory::base, window, 4080, 32).fault.kind,
            FaultKind::Bounds);
  EXPECT_EQ(bulkLoad(global, 0, window, 0, 16).fault.kind, FaultKind::Bounds);
  EXPECT_FALSE(bulkLoad(global, FlatMemory::base, window, 0, 0).fault);
  EXPECT_EQ(bulkLoad(global, FlatMemory::base, window, 16, 512).bytes, 512u);
  EXPECT_TRUE(bulkReduce(ReduceOp::Min, ReduceType::F32, global,
                         FlatMemory::base, window, 0, 16)
                  .fault);
  map = matrix(6, 1, 64, 8, 1);
  map.type = TmapType::F16;
  at[1] = 0;
  EXPECT_EQ(tmaReduce(ReduceOp::Inc, map, at, global, window, 0).fault.message,
            "reduction inc does not exist for tensor maps of type f16");
}

} // namespace
