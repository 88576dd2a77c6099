//===- Rates.cpp - Throughputs and latencies of chips ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters of the schedule model for each chip (TargetInfo::rates). Public
// measurements exist only for the B200.
//===----------------------------------------------------------------------===//

#include "mx/Target/Rates.h"
#include "mx/Target/MmaShapes.h"

using namespace mx::target;

const Rates mx::target::kB200Rates;

/// Rates of the H200. TMA loads, the hand-over by an mbarrier, and the
/// latencies of boxes from L2 and HBM are measured
/// (29571104fae6:benchmarks/chip/results/h200.json). Rates marked as fitted are
/// fitted to matmul times ([shapes] of Rates.h, docs/design/ScheduleModel.md).
/// All others are assumed to equal those of the B200.
static constexpr Rates h200() {
  Rates rates;
  rates.l2BytesPerClk = 6100;    // fitted; 4700 if no two SMs share rows
  rates.memorySharedPercent = 9; // fitted
  rates.l2Bytes = 50u << 20;
  rates.hbmBytesPerClk = 2070;      // if all SMs only load
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
  rates.linkBytesPerClk = 162; // 300 GB/s over NVLink 4, assumed
  return rates;
}
const Rates mx::target::kH200Rates = h200();

/// Rates of the RTX 5090, not measured by this project. Per cycle, an SM
/// multiplies 1024 pairs of E4M3 or 2048 pairs of E2M1, which is two columns
/// with 16 rows of 32 bytes. There are two sources. OMMA m16n8k64 retires 4096
/// operations per cycle (Neroued/ninfer, pull request #160, clocks read in the
/// kernel). MXFP8 reaches 993 TFLOP/s on 170 SMs at about 2.85 GHz ([FI]); per
/// cycle, this equals the 838 TFLOP/s at 2.41 GHz of the data sheet.
static constexpr Rates rtx5090() {
  Rates rates;
  rates.mmaColumnsPerClk = 2;
  // An SM reads 128 bytes per cycle from L1 and shared memory. The 188 SMs of
  // an RTX PRO 6000 reach more than 60 TB/s (Chips and Cheese, "Blackwell:
  // NVIDIA's Massive GPU", 2025).
  rates.smemReadBytesPerClk = 128;
  rates.mmaLatency = 40;      // assumed
  rates.fillBytesPerClk = 64; // assumed: L2 bandwidth of an SM
  // The L2 of an RTX PRO 6000 reaches 8.7 TB/s at 2.6 GHz (Chips and Cheese).
  // The L2 latency of 130 ns is 340 of the assumed 550 turn-around cycles.
  rates.l2BytesPerClk = 3300;
  rates.l2Bytes = 96u << 20; // [RTX]
  // The data sheet lists 1792 GB/s at 2.41 GHz [RTX].
  rates.linkBytesPerClk = 20; // 50 GB/s over PCIe 5, assumed
  rates.hbmBytesPerClk = 740;
  rates.streamBytesPerClk = 740;
  return rates;
}
const Rates mx::target::kRTX5090Rates = rtx5090();

/// Rates of the GB10 of DGX Spark, which this project did not measure. Its SM
/// has the rates of the RTX 5090: at 2.5 GHz, 48 such SMs reach one petaflop of
/// sparse FP4, as in the data sheet. The sparse rate is twice the dense rate.
static constexpr Rates gb10() {
  Rates rates = rtx5090();
  // Assume that half of the 48 SMs read 64 bytes per cycle each.
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
