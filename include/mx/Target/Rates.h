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
// - [loop] the same repository, cutlass_gemm_mainloop/results.csv: main loop of
//   one CTA by tile and stage count. Full rates agree with [UMMA] at 1.26 GHz.
// - [mcast] the same repository, tma2dmcast_sweep_results.csv: loads of all
//   SMs.
// - [blog] "MXFP8 GEMM: up to 99 % of cuBLAS performance using CUDA + PTX".
// - [A100] NVIDIA A100 Tensor Core GPU Architecture, whitepaper.
// - [RTX] NVIDIA RTX Blackwell GPU Architecture, whitepaper, and the data
//   sheets of RTX 5090 and DGX Spark.
// - [FI] flashinfer-ai/flashinfer, issues 3628 and 4149: MXFP8 matmuls with
//   mma.sync on RTX 5090 and 5060 Ti.
// - [CUDA] CUDA C++ Programming Guide and Best Practices Guide.
//
// Measurements of this project, commit:path.
// - [chip] 29571104fae6:benchmarks/chip/results/h200.json
// - [shapes] matmuls with random shapes,
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

  /// An instruction with M = 128 (256 in a pair) takes N / 2 cycles for 32
  /// bytes of K of any kind [UMMA: 128x256 128, 128x128 64; pair 256x256 128].
  unsigned mmaColumnsPerClk = 2;
  /// Lower bound from shared-memory reads: 32 bytes of each row of A and B in
  /// this CTA are read at this rate [UMMA: 128x64 48 cycles, pair 256x64 43].
  unsigned smemReadBytesPerClk = 128;
  /// Cycles from issue to the barrier's flip, without the instruction's own
  /// cycles [UMMA: 128x256 264 - 128].
  unsigned mmaLatency = 136;
  /// Cycles in which the issuing thread waits and commits in each step [UMMA].
  unsigned stepCycles = 12;
  /// Additional cycles with one scale buffer, when tcgen05.cp waits for earlier
  /// MMAs: copy latency plus 512-byte tiles at 128 bytes per cycle (assumed).
  unsigned copyLatency = 24;
  unsigned scaleTileCycles = 4;

  //===--- Loads ----------------------------------------------------------===//

  /// A released stage is full again after this latency, plus the time for the
  /// stage's bytes at the fill rate [loop: fp8 tiles of 10 to 48 KiB in L2 take
  /// 600, 669, 819, 884, 942 cycles].
  unsigned loadLatency = 550;
  unsigned fillBytesPerClk = 128;
  /// Additional latency of bytes from HBM [loop: bf16 48 KiB 1430, L2 942].
  unsigned missLatency = 490;
  /// Total L2 bandwidth of all SMs, assumed as twice a die's 5120 [A100].
  unsigned l2BytesPerClk = 10240;
  /// Slowdown in per cent when memory time equals compute time, relative to the
  /// longer of the two.
  unsigned memorySharedPercent = 0;
  /// 126 MB [UMMA]. The model assumes that half of the L2 contains data for
  /// repeated reads. Lines of the other die and of the result occupy the rest.
  uint64_t l2Bytes = 126u << 20;
  /// HBM bandwidth [mcast: 7.28 TB/s without sharing].
  unsigned hbmBytesPerClk = 3900;
  /// Bandwidth of kernels that only read and write, such as mx.dequantize,
  /// scaled by the ratio on an H200: 3.72 TB/s (E4M3) at the SM clock of
  /// matmuls.
  unsigned streamBytesPerClk = 4266;

  /// Bandwidth to other GPUs in one direction: 600 GB/s over NVLink 5 (assumed,
  /// 2/3 of the data sheet), at 1.85 GHz. Latency of a collective, 20 us.
  unsigned linkBytesPerClk = 324;
  unsigned collectiveLatency = 37000;

  //===--- Epilogue, per CTA ----------------------------------------------===//

  /// tcgen05.ld.32x32b by four warps: 4 bytes in each of 128 lanes (assumed).
  unsigned tmemReadBytesPerClk = 512;
  /// Stores from registers, which write a sector in each of 32 rows. The
  /// load-store unit limits them [blog]. With 40 (assumed), staged stores are
  /// faster only if they overlap with MMAs, as in [blog].
  unsigned directBytesPerClk = 40;
  unsigned directLatency = 300;
  /// Staged stores: bandwidth of writing to and reading from shared memory
  /// (assumed); cycles for a wait, a fence and an issue per buffer; latency
  /// until the first bytes are stored [blog: 10 % slower at 2048 x 2048 x 2048,
  /// 1 % faster at 8192].
  unsigned stagedBytesPerClk = 64;
  unsigned stagedBufferCycles = 60;
  unsigned stagedLatency = 1500;
  /// Duration of stores as a percentage of the duration on a single SM. `Last`
  /// applies to the final stores, which all SMs issue at once. `Partial`
  /// applies to splits of up to 128 rows with f32 results. The other fields
  /// apply to earlier stores, for which the next work tile waits.
  unsigned directLastPercent = 100, stagedLastPercent = 100;
  unsigned directPartialPercent = 100;
  unsigned directPercent = 100, stagedPercent = 100;
  /// Cycles to hand an accumulator from the tensor core to the epilogue and
  /// back, each through a barrier on which a warp waits (assumed).
  unsigned handOver = 100;

  //===--- Launch ---------------------------------------------------------===//

  /// Cycles to set up barriers, tensor memory, tensor maps and the cluster
  /// barrier (assumed), and additional cycles for a pair.
  unsigned setUp = 1200, pairSetUp = 300;
  /// Delay of a kernel that waits for its predecessor: about 2 us [CUDA: launch
  /// overhead of a few microseconds, partly hidden in a stream].
  unsigned nextKernel = 3700;
  /// Latency of the kernel that adds the parts of a split reduction, in
  /// addition to `nextKernel` and the time for the kernel's bytes.
  unsigned sumLatency = 0;
  /// Time to fetch a work tile at run time and pass it to all roles (assumed).
  /// All but the hand-over overlaps with the previous work tile.
  unsigned clcHandOver = 50;
  /// True if visiting tiles along a Hilbert curve is as fast as in bands, for
  /// equal loads. On an H200, bands are 2 to 3 % faster.
  bool hasFastCurve = true;
};

/// Rates of the chip table (TargetInfo::rates).
extern const Rates kB200Rates, kH200Rates, kRTX5090Rates, kGB10Rates;

/// Return the cycles that an instruction of `n` columns takes on the tensor
/// core, and on the shared-memory port of each CTA.
unsigned mmaCycles(const Rates &rates, unsigned n);
unsigned mmaPortCycles(const Rates &rates, unsigned ctaGroup, unsigned n);

} // namespace mx::target

#endif // MX_TARGET_RATES_H
