//===- Rates.cpp - how fast each part of a chip works ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A row for each chip whose schedules a model chooses (TargetInfo::rates). Of
// those, only the B200 was measured in public.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/Rates.h"
#include "mx/Target/MmaShapes.h"

using namespace mx::target;

const Rates mx::target::kB200Rates;

/// Rates of the H200. Measured: loads by the copy engine, the hand-over by an
/// mbarrier, and the latencies of boxes from L2 and HBM
/// (29571104fae6:benchmarks/chip/results/h200.json). Fitted to times of
/// matmuls: the marked rates ([shapes] of Rates.h,
/// docs/design/ScheduleModel.md). Everything else is assumed to be as on the
/// B200.
static constexpr Rates h200() {
  Rates rates;
  rates.l2BytesPerClk = 6100;    // fitted; 4700 where no two SMs share rows
  rates.memorySharedPercent = 9; // fitted
  rates.l2Bytes = 50u << 20;
  rates.hbmBytesPerClk = 2070;      // where all SMs only load
  rates.streamBytesPerClk = 2070;   // 2265 on an H200; less on an H100
  rates.directLastPercent = 500;    // fitted
  rates.stagedLastPercent = 270;    // fitted
  rates.directPartialPercent = 200; // fitted
  rates.sumLatency = 800;           // fitted
  rates.directPercent = 300;        // fitted
  rates.stagedPercent = 200;        // fitted
  rates.setUp = 2200;               // fitted
  rates.handOver = 75;
  rates.loadLatency = 354 + rates.handOver;
  rates.missLatency = 913 - 354;
  rates.hasFastCurve = false;
  return rates;
}
const Rates mx::target::kH200Rates = h200();

/// The RTX 5090, of which this project measured nothing. An SM multiplies 1024
/// pairs of E4M3 and 2048 of E2M1 a cycle, two columns of 16 rows by 32 bytes:
/// OMMA m16n8k64 retires 4096 operations a cycle (Neroued/ninfer, pull request
/// 160, clocks read in the kernel), and MXFP8 reaches 993 TFLOP/s on 170 SMs at
/// about 2.85 GHz ([FI]; the data sheet's 838 at 2.41 are as many a cycle).
static constexpr Rates rtx5090() {
  Rates rates;
  rates.mmaColumnsPerClk = 2;
  // 128 bytes of L1 and shared memory (Chips and Cheese, "Blackwell: NVIDIA's
  // Massive GPU", 2025: more than 60 TB/s of the 188 SMs of an RTX PRO 6000).
  rates.smemReadBytesPerClk = 128;
  rates.mmaLatency = 40;      // assumed
  rates.fillBytesPerClk = 64; // assumed: what an SM takes from L2
  // 8.7 TB/s of an RTX PRO 6000 at 2.6 GHz (Chips and Cheese), whose L2 gives a
  // load an answer after 130 ns: 340 cycles of the 550 that a stage's turn is
  // assumed to take.
  rates.l2BytesPerClk = 3300;
  rates.l2Bytes = 96u << 20; // [RTX]
  // 1792 GB/s at 2.41 GHz [RTX].
  rates.hbmBytesPerClk = 740;
  rates.streamBytesPerClk = 740;
  return rates;
}
const Rates mx::target::kRTX5090Rates = rtx5090();

/// The GB10 of DGX Spark, of which nothing was measured, either. The same SM:
/// 48 of them give the petaflop of sparse FP4 of its data sheet, half of which
/// is dense, at 2.5 GHz.
static constexpr Rates gb10() {
  Rates rates = rtx5090();
  // Assumed: half of what 48 SMs take of 64 bytes a cycle each.
  rates.l2BytesPerClk = 1536;
  rates.l2Bytes = 24u << 20; // [RTX]
  // 273 GB/s at about 2.4 GHz [RTX].
  rates.hbmBytesPerClk = 113;
  rates.streamBytesPerClk = 113;
  return rates;
}
const Rates mx::target::kGB10Rates = gb10();

unsigned mx::target::mmaCycles(const Rates &rates, unsigned n) {
  return (n + rates.mmaColumnsPerClk - 1) / rates.mmaColumnsPerClk;
}

unsigned mx::target::mmaPortCycles(const Rates &rates, unsigned ctaGroup,
                                   unsigned n) {
  constexpr unsigned kRowsOfA = 128;
  unsigned bytes = (kRowsOfA + n / ctaGroup) * kMmaKBytes;
  return (bytes + rates.smemReadBytesPerClk - 1) / rates.smemReadBytesPerClk;
}
