//===- Rates.h - how fast each part of a chip works -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The hardware table by which schedules are chosen, in cycles of the SM clock
// and bytes per cycle. Of the B200 nothing was measured by this project: each
// number names the public source it comes from, or says that it is assumed. Of
// the H200 simulator/benchmarks/chip measured what Rates.cpp names.
// docs/design/ScheduleModel.md has the formulas that use it.
//
// Sources:
// - [UMMA] SemiAnalysisAI/microbench-blackwell, umma_throughput and
//   umma_latency, and "Dissecting Nvidia Blackwell" (SemiAnalysis, 2026).
// - [loop] the same repository, cutlass_gemm_mainloop/results.csv: one CTA's
//   main loop by tile and stages. Full rates agree with [UMMA] at 1.26 GHz.
// - [mcast] the same repository, tma2dmcast_sweep_results.csv: loads of all
// SMs.
// - [blog] "MXFP8 GEMM: up to 99 % of cuBLAS performance using CUDA + PTX".
// - [A100] NVIDIA A100 Tensor Core GPU Architecture, whitepaper.
// - [RTX] NVIDIA RTX Blackwell GPU Architecture, whitepaper, and the data
// sheets
//   of RTX 5090 and DGX Spark.
// - [FI] flashinfer-ai/flashinfer, issues 3628 and 4149: MXFP8 matmuls by
//   mma.sync on RTX 5090 and 5060 Ti.
// - [CUDA] CUDA C++ Programming Guide and Best Practices Guide.
//
// Measurements of this project, commit:path.
// - [chip] 29571104fae6:benchmarks/chip/results/h200.json
// - [shapes] matmuls of random shapes,
//   benchmarks/products/results/surface-CHIP-seedN.json. H200: seed 1 at
//   0155d274a222, 11 to 13 at e066ef6ab707, 23 to 26 at 97b9083de2a9, 29 to 31
//   and later at 29571104fae6. H100: 11 to 13 at 30d41118b0e6, 14 and later at
//   29571104fae6. Timings of the other seeds were not kept.
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_RATES_H
#define MX_TARGET_RATES_H

#include "mx/Target/TargetInfo.h"

namespace mx::target {

/// The defaults are the B200's.
struct Rates {
  //===--- Tensor core, per instruction ----------------------------------===//

  /// An instruction of M = 128 (256 of a pair) takes N / 2 cycles for 32 bytes
  /// of K, whatever the kind [UMMA: 128x256 128, 128x128 64; pair 256x256 128].
  unsigned mmaColumnsPerClk = 2;
  /// Shared-memory operands: rows of A and B in this CTA x 32 bytes at this
  /// rate bound it below [UMMA: 128x64 48 cycles, pair 256x64 43].
  unsigned smemReadBytesPerClk = 128;
  /// From issue to the barrier's flip beyond an instruction's own cycles
  /// [UMMA: 128x256 264 - 128].
  unsigned mmaLatency = 136;
  /// A wait and a commit by the issuing thread at each step [UMMA].
  unsigned stepCycles = 12;
  /// More when the scales have one place: tcgen05.cp then follows the MMAs
  /// before it. A 512-byte tile at 128 bytes a cycle, after the latency of the
  /// copy (both assumed).
  unsigned copyLatency = 24;
  unsigned scaleTileCycles = 4;

  //===--- Loads ----------------------------------------------------------===//

  /// A stage's turn-around, from the release to the next full barrier: this,
  /// and its bytes at the fill rate [loop: fp8 tiles of 10 to 48 KiB that lie
  /// in L2 take 600, 669, 819, 884, 942 cycles].
  unsigned loadLatency = 550;
  unsigned fillBytesPerClk = 128;
  /// More when the bytes come from HBM [loop: bf16 48 KiB 1430 against 942].
  unsigned missLatency = 490;
  /// What L2 gives all SMs together: twice the 5120 of one die [A100]; assumed.
  unsigned l2BytesPerClk = 10240;
  /// How much longer than either the loads and the work of the SMs take
  /// together where they alone would take as long as each other, in per cent.
  unsigned memorySharedPercent = 0;
  /// 126 MB [UMMA]; half of it is trusted to hold what is read again, as lines
  /// of both dies' shares and of the result come between (assumed).
  uint64_t l2Bytes = 126u << 20;
  /// [mcast: 7.28 TB/s without sharing].
  unsigned hbmBytesPerClk = 3900;
  /// Of kernels that only read and write, as mx.dequantize: by as much more as
  /// 3.72 TB/s on an H200 (E4M3) are at the clock that SMs have under matmuls.
  unsigned streamBytesPerClk = 4266;

  //===--- Epilogue, per CTA ----------------------------------------------===//

  /// tcgen05.ld.32x32b by four warps: 128 lanes of 4 bytes (assumed).
  unsigned tmemReadBytesPerClk = 512;
  /// Stores from registers: 32 rows of a sector each for an instruction. The
  /// blog finds the load-store unit throttled; 40 is assumed so that, as there,
  /// staged stores win only where they overlap with MMAs.
  unsigned directBytesPerClk = 40;
  unsigned directLatency = 300;
  /// Staged stores: write to and read from shared memory (assumed), then a
  /// wait, a fence and an issue for each buffer, and latency before the first
  /// bytes leave [blog: slower by 10 % at 2048 x 2048 x 2048, faster by 1 % at
  /// 8192].
  unsigned stagedBytesPerClk = 64;
  unsigned stagedBufferCycles = 60;
  unsigned stagedLatency = 1500;
  /// How much longer stores take than those of one SM, in per cent: the last
  /// ones, as all SMs store at once, of a split of up to 128 rows
  /// less, as they are f32; and those before, which the next work tile waits
  /// for, as most SMs do.
  unsigned directLastPercent = 100, stagedLastPercent = 100;
  unsigned directPartialPercent = 100;
  unsigned directPercent = 100, stagedPercent = 100;
  /// Hand-over of an accumulator between the tensor core and the epilogue: a
  /// barrier's flip seen by a waiting warp and back (assumed).
  unsigned handOver = 100;

  //===--- Launch ---------------------------------------------------------===//

  /// Set-up: barriers, tensor memory, tensor maps, cluster barrier (assumed),
  /// and how much more a pair's is.
  unsigned setUp = 1200, pairSetUp = 300;
  /// A kernel that waits for the one before it: about 2 us [CUDA: launch
  /// overhead of a few microseconds, partly hidden in a stream].
  unsigned nextKernel = 3700;
  /// What the kernel that adds the splits of a reduction takes beyond that and
  /// its bytes.
  unsigned sumLatency = 0;
  /// Asking for a work tile at run time and telling all roles (assumed; it
  /// overlaps with the unit before, but for the hand-over).
  unsigned clcHandOver = 50;
  /// Whether a Hilbert curve is as fast as bands of tiles that load as much: on
  /// an H200 bands are 2 to 3 % faster.
  bool hasFastCurve = true;
};

/// Those of the chip table (TargetInfo::rates).
extern const Rates kB200Rates, kH200Rates, kRTX5090Rates, kGB10Rates;

/// Cycles of the tensor core for one instruction of `n` columns, and of the
/// shared-memory port of each CTA.
unsigned mmaCycles(const Rates &rates, unsigned n);
unsigned mmaPortCycles(const Rates &rates, unsigned ctaGroup, unsigned n);

} // namespace mx::target

#endif // MX_TARGET_RATES_H
