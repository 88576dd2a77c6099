//===- TensorCpTest.cpp - tcgen05.cp and tcgen05.shift --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every shape and multicast, decompression, and the path of a scale tile
// from its blocked layout in shared memory to the positions that an MMA reads.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

void fillRandom(TestCta &cta, unsigned seed) {
  std::mt19937 random(seed);
  for (uint8_t &byte : cta.shared)
    byte = random();
}

uint32_t word(const TestCta &cta, uint32_t address) {
  return cta.shared[address] | cta.shared[address + 1] << 8 |
         cta.shared[address + 2] << 16 |
         uint32_t(cta.shared[address + 3]) << 24;
}

struct Case {
  CpShape shape;
  CpMulticast multicast;
  unsigned rows, columns;
  std::vector<std::vector<unsigned>> lanes; // for each row
};

std::vector<Case> cases() {
  auto lanes = [](unsigned rows, auto fn) {
    std::vector<std::vector<unsigned>> all;
    for (unsigned i = 0; i < rows; ++i)
      all.push_back(fn(i));
    return all;
  };
  using V = std::vector<unsigned>;
  return {
      {CpShape::L128x256b, CpMulticast::None, 128, 8,
       lanes(128, [](unsigned i) { return V{i}; })},
      {CpShape::L128x128b, CpMulticast::None, 128, 4,
       lanes(128, [](unsigned i) { return V{i}; })},
      {CpShape::L64x128b, CpMulticast::Warpx2_02_13, 64, 4,
       lanes(64, [](unsigned i) { return V{i, i + 64}; })},
      {CpShape::L64x128b, CpMulticast::Warpx2_01_23, 64, 4,
       lanes(64,
             [](unsigned i) {
               return i < 32 ? V{i, i + 32} : V{i + 32, i + 64};
             })},
      {CpShape::L32x128b, CpMulticast::Warpx4, 32, 4,
       lanes(32, [](unsigned i) { return V{i, i + 32, i + 64, i + 96}; })},
      {CpShape::L4x256b, CpMulticast::None, 4, 8,
       lanes(4, [](unsigned i) { return V{32 * i}; })},
  };
}

TEST(Tcgen05Cp, EveryShapeFillsItsLanes) {
  struct {
    uint64_t code;
    unsigned span;
  } const layouts[] = {{0, 0}, {6, 32}, {4, 64}, {2, 128}};
  for (const Case &c : cases())
    for (const auto &layout : layouts)
      for (unsigned group : {1u, 2u}) {
        TestCta ctas[2];
        fillRandom(ctas[0], 1);
        fillRandom(ctas[1], 2);
        CtaView views[2] = {ctas[0].view, ctas[1].view};
        CpOp op;
        op.shape = c.shape;
        op.multicast = c.multicast;
        op.ctaGroup = group;
        op.address = 12;
        uint32_t start = 4096, lbo = 4096,
                 sbo = layout.span ? layout.span * 8 : 160;
        op.desc = smemDesc(start, lbo, sbo, layout.code);
        Fault fault = copyToTensor(op, views);
        ASSERT_FALSE(fault) << fault.message;
        unsigned cells = 0;
        for (unsigned p = 0; p < group; ++p)
          for (unsigned row = 0; row < c.rows; ++row)
            for (unsigned column = 0; column < c.columns; ++column) {
              unsigned kb = column * 4;
              uint32_t at = start + row / 8 * sbo;
              if (layout.span) {
                at += row % 8 * layout.span + kb;
                at ^= (at >> 7 & (layout.span / 16 - 1)) << 4;
              } else {
                at += row % 8 * 16 + kb / 16 * lbo + kb % 16;
              }
              for (unsigned lane : c.lanes[row]) {
                ++cells;
                ASSERT_EQ(ctas[p].tensor.row(lane)[12 + column],
                          word(ctas[p], at));
              }
            }
        for (unsigned p = 0; p < 2; ++p)
          for (unsigned lane = 0; lane < 128; ++lane)
            for (unsigned column = 0; column < 512; ++column)
              cells -= ctas[p].tensor.isDefined(lane, column, 1);
        EXPECT_EQ(cells, 0u) << "other cells were written";
      }
}

TEST(Tcgen05Cp, BlockedScalesLandWhereTheMmaReadsThem) {
  // 128 x 4 scales in the blocked layout: (r % 32) * 16 + r / 32 * 4 + c.
  TestCta cta;
  uint8_t scales[128][4];
  std::mt19937 random(3);
  for (unsigned r = 0; r < 128; ++r)
    for (unsigned c = 0; c < 4; ++c)
      cta.shared[2048 + r % 32 * 16 + r / 32 * 4 + c] = scales[r][c] = random();
  CpOp op;
  op.shape = CpShape::L32x128b;
  op.multicast = CpMulticast::Warpx4;
  op.address = 40;
  op.desc = smemDesc(2048, 0, 128, 0);
  ASSERT_FALSE(copyToTensor(op, &cta.view));
  for (unsigned r = 0; r < 128; ++r)
    for (unsigned c = 0; c < 4; ++c)
      for (unsigned replica = 0; replica < 4; ++replica)
        EXPECT_EQ(cta.tensor.row(r % 32 + 32 * replica)[40 + r / 32] >> 8 * c &
                      255,
                  scales[r][c]);
}

TEST(Tcgen05Cp, DecompressesToContainers) {
  for (unsigned bits : {4u, 6u}) {
    TestCta cta;
    fillRandom(cta, bits);
    CpOp op;
    op.shape = CpShape::L128x128b;
    op.decompress = bits == 4 ? CpDecompress::B4x16P64 : CpDecompress::B6x16P32;
    op.desc = smemDesc(0, 0, 128, 0);
    ASSERT_FALSE(copyToTensor(op, &cta.view));
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned i = 0; i < 16; ++i) {
        unsigned code = 0;
        for (unsigned b = 0; b < bits; ++b) {
          unsigned position = i * bits + b;
          code |= (cta.shared[row * 16 + position / 8] >> position % 8 & 1)
                  << b;
        }
        unsigned container = cta.tensor.row(row)[i / 4] >> 8 * (i % 4) & 255;
        // Containers are 00xxxx00 for 4-bit and 0xxxxxx0 for 6-bit elements.
        EXPECT_EQ(container, bits == 4 ? code << 2 : code << 1);
      }
  }
}

TEST(Tcgen05Cp, ReportsFaults) {
  TestCta cta(4096);
  CpOp op;
  op.shape = CpShape::L32x128b;
  op.desc = smemDesc(0, 0, 128, 0);
  EXPECT_EQ(
      copyToTensor(op, &cta.view).message,
      "tcgen05.cp of shape 32x128b cannot be combined with multicast none");
  op.multicast = CpMulticast::Warpx4;
  EXPECT_FALSE(copyToTensor(op, &cta.view));
  op.desc = smemDesc(4096 - 256, 0, 128, 0);
  EXPECT_EQ(copyToTensor(op, &cta.view).kind, FaultKind::Bounds);
  op.desc = smemDesc(0, 0, 128, 0);
  op.address = 510;
  EXPECT_EQ(copyToTensor(op, &cta.view).kind, FaultKind::Bounds);
  op.address = 0;
  cta.view.owner = 3;
  EXPECT_EQ(copyToTensor(op, &cta.view).kind, FaultKind::Allocation);
  op.desc = 0;
  EXPECT_EQ(copyToTensor(op, &cta.view).kind, FaultKind::Descriptor);
  CpShape shape;
  EXPECT_TRUE(parseCpShape("4x256b", shape));
  EXPECT_EQ(shape, CpShape::L4x256b);
  CpMulticast multicast;
  EXPECT_TRUE(parseCpMulticast("warpx2::01_23", multicast));
  EXPECT_EQ(multicast, CpMulticast::Warpx2_01_23);
  EXPECT_FALSE(parseCpMulticast("warpx3", multicast));
}

TEST(Tcgen05Cp, RefillsTheRowThatShiftLeaves) {
  TestCta cta;
  fillRandom(cta, 9);
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned column = 0; column < 16; ++column)
      cta.set(lane, column, lane * 100 + column);
  for (unsigned warp = 0; warp < 4; ++warp)
    ASSERT_FALSE(shiftDown(tmemAddress(32 * warp, 4), 1, &cta.view));
  CpOp op;
  op.shape = CpShape::L4x256b;
  op.address = tmemAddress(31, 4);
  op.desc = smemDesc(1024, 128, 256, 0);
  ASSERT_FALSE(copyToTensor(op, &cta.view));
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned column = 0; column < 16; ++column) {
      uint32_t want = lane * 100 + column;
      if (column >= 4 && column < 12) {
        unsigned kb = (column - 4) * 4;
        want = lane % 32 < 31
                   ? want + 100
                   : word(cta, 1024 + lane / 32 * 16 + kb / 16 * 128 + kb % 16);
      }
      EXPECT_EQ(cta.tensor.row(lane)[column], want) << lane << " " << column;
    }
  EXPECT_EQ(shiftDown(tmemAddress(16, 4), 1, &cta.view).kind,
            FaultKind::Alignment);
}

} // namespace
