//===- TensorMemoryTest.cpp - Tensor memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the allocator's rules and the register layouts of tcgen05.ld and .st.
//===----------------------------------------------------------------------===//

#include "TensorTestUtils.h"

#include <gtest/gtest.h>
#include <set>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

using Status = TensorMemory::AllocStatus;

TEST(TensorMemory, AllocatesColumnsAndBlocks) {
  TensorMemory memory;
  auto a = memory.allocate(1, 256);
  EXPECT_EQ(a.status, Status::Done);
  EXPECT_EQ(a.column, 0u);
  EXPECT_EQ(memory.allocate(1, 128).column, 256u);
  EXPECT_EQ(memory.allocate(2, 256).status, Status::Blocked);
  EXPECT_EQ(memory.allocate(2, 128).column, 384u);
  EXPECT_EQ(memory.allocations(1).size(), 2u);
  ASSERT_FALSE(memory.deallocate(1, 0, 256));
  EXPECT_EQ(memory.allocate(3, 256).column, 0u);
  memory.release(1);
  EXPECT_TRUE(memory.allocations(1).empty());
  EXPECT_EQ(memory.allocate(1, 128).column, 256u) << "freed columns are reused";
}

TEST(TensorMemory, RejectsMisuseOfTheAllocator) {
  TensorMemory memory;
  for (uint32_t columns : {0u, 16u, 33u, 96u, 1024u})
    EXPECT_EQ(memory.allocate(1, columns).status, Status::Rejected) << columns;
  ASSERT_EQ(memory.allocate(1, 64).status, Status::Done);
  EXPECT_EQ(memory.allocate(1, 128).fault.message,
            "tcgen05.alloc of 128 columns after one of 64: allocations of a "
            "CTA must not increase");
  EXPECT_TRUE(memory.deallocate(1, 32, 64));
  EXPECT_TRUE(memory.deallocate(2, 0, 64)) << "not the owner";
  ASSERT_EQ(memory.allocate(1, 64).column, 64u);
  EXPECT_EQ(memory.deallocate(1, 64, 32).message,
            "tcgen05.dealloc of 32 columns at address 64, where 64 were "
            "allocated");
  EXPECT_EQ(memory.allocations(1).size(), 1u) << "all of them are freed";
  ASSERT_FALSE(memory.relinquish(1));
  EXPECT_EQ(memory.allocate(1, 32).status, Status::Rejected);
  EXPECT_FALSE(memory.deallocate(1, 0, 64));
  Fault twice = memory.deallocate(1, 0, 64);
  EXPECT_EQ(twice.kind, FaultKind::AllocationDone);
  EXPECT_EQ(twice.message,
            "tcgen05.dealloc of address 0, which this CTA has freed before");
}

TEST(TensorMemory, UsesOfFreedColumnsTakeEffect) {
  TensorMemory memory;
  ASSERT_EQ(memory.allocate(1, 64).status, Status::Done);
  memory.define(0, 0, 64);
  memory.row(0)[3] = 7;
  EXPECT_FALSE(memory.checkAccess(1, 0, 1, 0, 64, "D"));
  EXPECT_FALSE(memory.takeLateUse());
  ASSERT_FALSE(memory.deallocate(1, 0, 64));
  EXPECT_FALSE(memory.checkAccess(1, 0, 1, 32, 32, "D"));
  Fault late = memory.takeLateUse();
  EXPECT_EQ(late.kind, FaultKind::AllocationDone);
  EXPECT_EQ(late.message, "D covers columns 32 to 63, of which column 32 has "
                          "been freed before");
  EXPECT_FALSE(memory.takeLateUse()) << "a late use is reported once";
  EXPECT_EQ(memory.row(0)[3], 7u);
  EXPECT_TRUE(memory.isDefined(0, 0, 64));
  EXPECT_EQ(memory.checkAccess(1, 0, 1, 32, 64, "D").kind,
            FaultKind::Allocation)
      << "column 64 was never allocated";
  EXPECT_EQ(memory.checkAccess(2, 0, 1, 0, 1, "D").kind, FaultKind::Allocation)
      << "another CTA";
  // The columns now belong to another CTA.
  ASSERT_EQ(memory.allocate(2, 32).column, 0u);
  EXPECT_EQ(memory.checkAccess(1, 0, 1, 0, 1, "D").kind, FaultKind::Allocation);
  EXPECT_FALSE(memory.isDefined(0, 0, 1));
}

TEST(TensorMemory, PairsGetTheSameColumns) {
  TensorMemory first, second;
  ASSERT_EQ(second.allocate(9, 32).status, Status::Done);
  auto result = TensorMemory::allocatePair(first, 1, second, 2, 256);
  EXPECT_EQ(result.status, Status::Done);
  EXPECT_EQ(result.column, 32u);
  EXPECT_EQ(first.allocations(1)[0].column, 32u);
  EXPECT_EQ(second.allocations(2)[0].column, 32u);
  EXPECT_EQ(TensorMemory::allocatePair(first, 1, second, 2, 256).status,
            Status::Blocked);
}

TEST(TensorMemory, TracksDefinitionAndOwnership) {
  TensorMemory memory;
  ASSERT_EQ(memory.allocate(1, 128).status, Status::Done);
  EXPECT_FALSE(memory.isDefined(5, 60, 10));
  memory.define(5, 60, 10);
  EXPECT_TRUE(memory.isDefined(5, 60, 10));
  EXPECT_FALSE(memory.isDefined(5, 59, 2));
  EXPECT_FALSE(memory.isDefined(5, 69, 2));
  EXPECT_FALSE(memory.isDefined(4, 60, 1));
  memory.undefine(5, 64, 1);
  EXPECT_FALSE(memory.isDefined(5, 60, 10));
  EXPECT_TRUE(memory.isDefined(5, 65, 5));
  EXPECT_FALSE(memory.checkAccess(1, 0, 128, 0, 128, "x"));
  EXPECT_EQ(memory.checkAccess(1, 0, 1, 120, 16, "D").message,
            "D covers columns 120 to 135, of which column 128 is not allocated "
            "to this CTA");
  EXPECT_TRUE(memory.checkAccess(2, 0, 1, 0, 1, "x"));
  EXPECT_EQ(memory.checkAccess(1, 96, 33, 0, 1, "x").kind, FaultKind::Bounds);
  EXPECT_EQ(memory.checkAccess(1, 0, 1, 510, 3, "x").kind, FaultKind::Bounds);
  ASSERT_EQ(memory.allocate(1, 64).status, Status::Done);
  EXPECT_FALSE(memory.checkAccess(1, 0, 1, 120, 16, "two allocations"));
  ASSERT_FALSE(memory.deallocate(1, 0, 128));
  ASSERT_EQ(memory.allocate(2, 64).column, 0u);
  EXPECT_FALSE(memory.isDefined(5, 60, 1)) << "fresh cells are undefined";
}

/// Register of a fragment, computed independently of the implementation. In
/// each 8x8 tile of 16x256b, columns col and col + 1 belong to thread
/// 4 * row + col / 2.
struct Expected {
  unsigned thread, reg;
};
Expected holder(TmemShape shape, unsigned lane, unsigned column,
                unsigned split) {
  switch (shape) {
  case TmemShape::L32x32b:
    return {lane, column};
  case TmemShape::L16x64b: // lanes 8 to 15 in odd threads
    return {(lane % 8) * 4 + column % 2 * 2 + lane / 8, column / 2};
  case TmemShape::L16x128b: // lanes 8 to 15 in odd registers
    return {(lane % 8) * 4 + column % 4, column / 4 * 2 + lane / 8};
  case TmemShape::L16x256b:
    return {(lane % 8) * 4 + column % 8 / 2,
            column / 8 * 4 + lane / 8 * 2 + column % 2};
  case TmemShape::L16x32bx2:
    return column < split ? Expected{lane, column}
                          : Expected{lane + 16, column - split};
  }
  return {0, 0};
}

TEST(TensorMemory, LoadsEveryShapeAndRepeat) {
  TestCta cta;
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned column = 0; column < 512; ++column)
      cta.set(lane, column, lane << 16 | column);
  struct {
    TmemShape shape;
    unsigned lanes, columns, maxRepeat, registers;
  } const shapes[] = {{TmemShape::L32x32b, 32, 1, 128, 1},
                      {TmemShape::L16x64b, 16, 2, 128, 1},
                      {TmemShape::L16x128b, 16, 4, 64, 2},
                      {TmemShape::L16x256b, 16, 8, 32, 4},
                      {TmemShape::L16x32bx2, 16, 1, 128, 1}};
  for (const auto &s : shapes)
    for (unsigned repeat = 1; repeat <= 128; repeat *= 2)
      for (unsigned warp : {0u, 3u, 6u})
        for (unsigned upper : {0u, 16u}) {
          TmemTransfer transfer;
          transfer.shape = s.shape;
          transfer.repeat = repeat;
          transfer.warp = warp;
          unsigned first = warp % 4 * 32 + (s.lanes == 16 ? upper : 0);
          transfer.address = tmemAddress(first, 4);
          transfer.splitOffset = repeat;
          std::vector<uint32_t> registers(128 * 32, ~0u);
          Fault fault = cta.tensor.load(7, transfer, registers.data());
          if (repeat > s.maxRepeat) {
            EXPECT_EQ(fault.kind, FaultKind::Shape);
            continue;
          }
          ASSERT_FALSE(fault) << fault.message;
          ASSERT_EQ(transfer.registers(), repeat * s.registers);
          unsigned columns = s.columns * repeat;
          if (s.shape == TmemShape::L16x32bx2)
            columns *= 2;
          std::set<unsigned> seen;
          for (unsigned lane = 0; lane < s.lanes; ++lane)
            for (unsigned column = 0; column < columns; ++column) {
              Expected at = holder(s.shape, lane, column, repeat);
              unsigned index = at.reg * 32 + at.thread;
              seen.insert(index);
              ASSERT_EQ(registers[index], tmemAddress(first + lane, 4 + column))
                  << int(s.shape) << " x" << repeat;
            }
          ASSERT_EQ(seen.size(), transfer.registers() * 32);
          // Storing restores all values.
          TestCta copy;
          ASSERT_FALSE(copy.tensor.store(7, transfer, registers.data()));
          for (unsigned lane = 0; lane < 128; ++lane)
            for (unsigned column = 0; column < 512; ++column) {
              bool inside = lane >= first && lane < first + s.lanes &&
                            column >= 4 && column < 4 + columns;
              ASSERT_EQ(copy.tensor.isDefined(lane, column, 1), inside);
              if (inside) {
                ASSERT_EQ(copy.tensor.row(lane)[column],
                          cta.tensor.row(lane)[column]);
              }
            }
        }
}

TEST(TensorMemory, PacksPairsOfColumns) {
  TestCta cta;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned column = 0; column < 8; ++column)
      cta.set(lane, column, 0xABCD0000u | lane << 8 | column);
  TmemTransfer transfer;
  transfer.repeat = 4;
  transfer.pack16 = true;
  uint32_t registers[4 * 32];
  ASSERT_FALSE(cta.tensor.load(7, transfer, registers));
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(registers[r * 32 + t], (t << 8 | 2 * r) | (t << 8 | (2 * r + 1))
                                                              << 16);
  TestCta other;
  ASSERT_FALSE(other.tensor.store(7, transfer, registers));
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned column = 0; column < 8; ++column)
      EXPECT_EQ(other.tensor.row(lane)[column], lane << 8 | column);
}

TEST(TensorMemory, ReportsWindowsAndPoison) {
  TestCta cta;
  TmemTransfer transfer;
  uint32_t registers[32];
  Fault fault = cta.tensor.load(7, transfer, registers);
  EXPECT_EQ(fault.kind, FaultKind::Uninitialized);
  EXPECT_EQ(fault.message, "tcgen05.ld reads tensor memory at lane 0, column "
                           "0, which has not been written");
  transfer.warp = 2;
  transfer.address = tmemAddress(32, 0);
  EXPECT_EQ(cta.tensor.store(7, transfer, registers).message,
            "warp 2 reaches lanes 64 to 95 only, got lane 32");
  transfer.address = tmemAddress(0, 0); // the warp bits are ignored
  EXPECT_FALSE(cta.tensor.store(7, transfer, registers));
  EXPECT_TRUE(cta.tensor.isDefined(64, 0, 1));
  EXPECT_FALSE(cta.tensor.isDefined(0, 0, 1));
  transfer.address = tmemAddress(128 + 64, 4); // in the second CTA of a pair
  EXPECT_FALSE(cta.tensor.store(7, transfer, registers));
  EXPECT_TRUE(cta.tensor.isDefined(64, 4, 1));
  transfer.address = tmemAddress(16, 0);
  EXPECT_EQ(cta.tensor.store(7, transfer, registers).kind,
            FaultKind::Alignment);
  transfer.address = tmemAddress(64, 512);
  EXPECT_EQ(cta.tensor.store(7, transfer, registers).kind, FaultKind::Bounds);
  transfer.address = tmemAddress(64, 0);
  EXPECT_EQ(cta.tensor.store(8, transfer, registers).kind,
            FaultKind::Allocation);
}

} // namespace
