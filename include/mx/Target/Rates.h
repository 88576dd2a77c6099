//===- Rates.h - Throughputs and latencies of chips -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware parameters for choosing schedules, in cycles of the SM clock and
// bytes per cycle. docs/design/ScheduleModel.md defines the formulas. Values of
// the B200 are from the sources below or marked as assumed; this project
// measured none of them. simulator/benchmarks/chip measured the values of the
// H200 that Rates.cpp names.
//
// Sources:
// - [UMMA] SemiAnalysisAI/microbench-blackwell, umma_throughput and
//   umma_latency, and "Dissecting Nvidia Blackwell" (SemiAnalysis, 2026).
// - [loop] the same repository, cutlass_gemm_mainloop/results.csv: one CTA's
//   main loop by tile and stages. Full rates agree with [UMMA] at 1.26 GHz.
// - [mcast] the same repository, tma2dmcast_sweep_results.csv: loads of all
//   SMs.
// - [blog] "MXFP8 GEMM: up to 99 % of cuBLAS performance using CUDA + PTX".
// - [A100] NVIDIA A100 Tensor Core GPU Architecture, whitepaper.
// - [RTX] NVIDIA RTX Blackwell GPU Architecture, whitepaper, and the data
//   sheets of RTX 5090 and DGX Spark.
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
//   29571104fae6. Timings of other seeds were not kept.
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_RATES_H
#define MX_TARGET_RATES_H

#include "mx/Target/TargetInfo.h"

namespace mx::target {

/// Defaults for the B200.
struct Rates {
  //===--- Tensor core, per instruction ----------------------------------===//

  /// An instruction of M = 128 (256 in a pair) takes N / 2 cycles for 32 bytes
  /// of K of any kind [UMMA: 128x256 128, 128x128 64; pair 256x256 128].
  unsigned mmaColumnsPerClk = 2;
  /// Lower bound by shared-memory operands: rows of A and B in this CTA x 32
  /// bytes at this rate [UMMA: 128x64 48 cycles, pair 256x64 43].
  unsigned smemReadBytesPerClk = 128;
  /// From issue to the barrier's flip, minus the instruction's own cycles
  /// [UMMA: 128x256 264 - 128].
  unsigned mmaLatency = 136;
  /// Wait and commit of the issuing thread in each step [UMMA].
  unsigned stepCycles = 12;
  /// Additional cycles with a single buffer of scales, when tcgen05.cp waits
  /// for earlier MMAs: latency of the copy plus 512-byte tiles at 128 bytes per
  /// cycle (both assumed).
  unsigned copyLatency = 24;
  unsigned scaleTileCycles = 4;

  //===--- Loads ----------------------------------------------------------===//

  /// Turn-around of a stage from the release to the next full barrier: this
  /// latency plus its bytes at the fill rate [loop: fp8 tiles of 10 to 48 KiB
  /// in L2 take 600, 669, 819, 884, 942 cycles].
  unsigned loadLatency = 550;
  unsigned fillBytesPerClk = 128;
  /// Additional latency of bytes from HBM [loop: bf16 48 KiB 1430 against 942].
  unsigned missLatency = 490;
  /// Total L2 bandwidth of all SMs: twice the 5120 of a die [A100]; assumed.
  unsigned l2BytesPerClk = 10240;
  /// Slowdown in per cent when memory time equals compute time, relative to the
  /// longer of the two.
  unsigned memorySharedPercent = 0;
  /// 126 MB [UMMA]. The model trusts half of it to hold data for repeated
  /// reads, as lines of the other die and of the result compete (assumed).
  uint64_t l2Bytes = 126u << 20;
  /// HBM bandwidth [mcast: 7.28 TB/s without sharing].
  unsigned hbmBytesPerClk = 3900;
  /// Bandwidth of kernels that only read and write, such as mx.dequantize.
  /// Scaled by the ratio measured on an H200: 3.72 TB/s (E4M3) at the SM clock
  /// of matmuls.
  unsigned streamBytesPerClk = 4266;

  //===--- Epilogue, per CTA ----------------------------------------------===//

  /// tcgen05.ld.32x32b by four warps: 128 lanes of 4 bytes (assumed).
  unsigned tmemReadBytesPerClk = 512;
  /// Stores from registers: each instruction writes a sector in each of 32
  /// rows. The blog finds the load-store unit throttled. At 40 (assumed) staged
  /// stores win only if they overlap with MMAs, as in the blog.
  unsigned directBytesPerClk = 40;
  unsigned directLatency = 300;
  /// Staged stores: write to and read from shared memory (assumed), then a
  /// wait, a fence and an issue for each buffer, and latency before the first
  /// bytes leave [blog: 10 % slower at 2048 x 2048 x 2048, 1 % faster at 8192].
  unsigned stagedBytesPerClk = 64;
  unsigned stagedBufferCycles = 60;
  unsigned stagedLatency = 1500;
  /// Duration of stores in per cent of a single SM's. Last: the final stores,
  /// issued by all SMs at once. Partial: splits of up to 128 rows, which write
  /// f32. The others: earlier stores, which the next work tile waits for.
  unsigned directLastPercent = 100, stagedLastPercent = 100;
  unsigned directPartialPercent = 100;
  unsigned directPercent = 100, stagedPercent = 100;
  /// Hand-over of an accumulator between tensor core and epilogue: round trip
  /// of a barrier's flip to a waiting warp (assumed).
  unsigned handOver = 100;

  //===--- Launch ---------------------------------------------------------===//

  /// Set-up of barriers, tensor memory, tensor maps and cluster barrier
  /// (assumed), and the additional cost of a pair.
  unsigned setUp = 1200, pairSetUp = 300;
  /// Kernel that waits for its predecessor: about 2 us [CUDA: launch overhead
  /// of a few microseconds, partly hidden in a stream].
  unsigned nextKernel = 3700;
  /// Latency of the kernel for adding split reductions, beyond `nextKernel` and
  /// its bytes.
  unsigned sumLatency = 0;
  /// Fetching a work tile at run time and passing it to all roles (assumed;
  /// overlaps with the previous work tile except for the hand-over).
  unsigned clcHandOver = 50;
  /// A Hilbert curve is as fast as bands of tiles with equal loads. On an H200
  /// bands are 2 to 3 % faster.
  bool hasFastCurve = true;
};

/// Rates of the chip table (TargetInfo::rates).
extern const Rates kB200Rates, kH200Rates, kRTX5090Rates, kGB10Rates;

/// Cycles of the tensor core for an instruction of `n` columns, and of the
/// shared-memory port of each CTA.
unsigned mmaCycles(const Rates &rates, unsigned n);
unsigned mmaPortCycles(const Rates &rates, unsigned ctaGroup, unsigned n);

} // namespace mx::target

#endif // MX_TARGET_RATES_H
