//===- B200.cpp - figures of an NVIDIA B200 -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing of this chip was measured by this project. Where figures of a B300
// or an H200 stand in for unknown ones, the source says so and the range is
// wide. The derived ones were fitted to figures of engines only, never to the
// time of a kernel: docs/TimeModel.md has both beside each other.
//
// Sources:
// - umma, tma2d, mcast, mainloop: SemiAnalysisAI/microbench-blackwell.
// - B300: Antoniomv7/gb300-microbench.
// - trace: gau-nernst/learn-cuda, 02e_matmul_sm100, trace_v5 and trace_v6.
//===----------------------------------------------------------------------===//

#include "../Chip.h"

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

struct Row {
  Fact fact;
  Figure figure;
};

constexpr Row kRows[] = {
    {Fact::Multiprocessors,
     {"SMs", 148, 148, 148, "", kPublished,
      "chipsandcheese.com; 2 dies of 74"}},
    {Fact::BoostMHz,
     {"clock without a limit of power", 1965, 1965, 1965, "MHz", kPublished,
      "tma2d: 1.962 GHz; 1580 MHz last at 1000 W, flashinfer#2899"}},
    {Fact::LaunchOverhead,
     {"launch in a CUDA graph", 0.55, 0.5, 1.2, "us", kAssumed,
      "1.2 us published with the start of the kernel"}},
    {Fact::KernelStart,
     {"from the start of a kernel to its first instruction's end", 1300, 1000,
      2800, "cycles", kDerived, "1.2 us in a graph, less 0.55"}},
    {Fact::CtaStart,
     {"from the end of a CTA to the first instruction of the next", 2100, 1800,
      3000, "cycles", kDerived, "trace: 1312 ns; 1.6 GHz assumed"}},

    {Fact::AluLatency,
     {"result of an integer instruction", 4, 4, 5, "cycles", kAssumed,
      "as an H200"}},
    {Fact::PredicateLatency,
     {"result of a comparison, to what it guards", 13, 13, 13, "cycles",
      kAssumed, "as an H200"}},
    {Fact::FloatLatency,
     {"result of a floating-point instruction", 4, 4, 5, "cycles", kAssumed,
      "as an H200"}},
    {Fact::SpecialLatency,
     {"result of ex2, rsqrt, tanh, popc", 17, 17, 23, "cycles", kAssumed,
      "as an H200"}},
    {Fact::WarpLatency,
     {"result of shfl", 24, 20, 30, "cycles", kAssumed, "as an H200"}},
    {Fact::BranchTaken,
     {"a branch that is taken, beside its stall", 7, 6, 12, "cycles", kAssumed,
      "as an H200"}},

    {Fact::SharedBytes,
     {"bytes of shared memory a cycle", 128, 124, 128, "bytes/cycle",
      kPublished, "together.ai, FlashAttention-4"}},
    {Fact::SharedLatency,
     {"latency of ld.shared", 26, 24, 29, "cycles", kPublished, "B300"}},
    {Fact::SharedQueue,
     {"accesses that wait for shared memory, in its cycles", 64, 16, 256,
      "cycles", kAssumed, "as an H200"}},
    {Fact::L1Bytes,
     {"L1 and shared memory of an SM", 256, 256, 256, "KiB", kPublished,
      "CUDA C++ Programming Guide"}},
    {Fact::L1Latency,
     {"latency of a load that hits in L1", 39, 38, 42, "cycles", kPublished,
      "chipsandcheese.com"}},

    {Fact::MmaSyncProducts,
     {"multiplications of mma.sync in bf16 a cycle, an SM", 1024, 512, 2048,
      "1/cycle", kAssumed, "as an A100"}},
    {Fact::MmaSyncLatency,
     {"latency of mma.sync m16n8k16", 33, 24, 40, "cycles", kAssumed,
      "as an H200"}},

    {Fact::CopyIssue,
     {"a box, the copy engine's own work", 48, 1, 65, "cycles", kPublished,
      "B300: 65 alone, 48 to 53 in a row"}},
    {Fact::CopyBytes,
     {"bytes that come into an SM by the copy engine", 127, 120, 128,
      "bytes/cycle", kPublished, "B300, one SM alone"}},
    {Fact::CopyRow,
     {"a row of a box, of up to 128 bytes", 1, 0.98, 1.06, "cycles", kDerived,
      "mainloop: 192 rows in 148 ns, 384 in 298, at 1.28 GHz"}},
    {Fact::CopyLatency,
     {"a box of 1 KiB from L2, beside the engine's work", 100, 80, 250,
      "cycles", kDerived, "mainloop: boxes of 10 to 48 KiB in L2"}},
    {Fact::CopyHbmLatency,
     {"the same from HBM, in addition", 580, 400, 1100, "cycles", kDerived,
      "tma2d: 927 cycles a box of 1 KiB; 1413 for the first"}},
    {Fact::CopyHbmCost,
     {"bytes of HBM that a byte of boxes costs", 1, 1, 1.03, "", kPublished,
      "tma2d: 7.0 to 7.26 TB/s"}},

    {Fact::PortBytes,
     {"bytes between an SM and L2", 128, 71, 128, "bytes/cycle", kPublished,
      "B300, one SM alone"}},
    {Fact::L2BytesPerNs,
     {"bytes out of L2, all SMs", 20500, 12000, 20500, "bytes/ns", kPublished,
      "B300: 71 an SM; mcast: 14.2 TB/s where 16 SMs read the same"}},
    {Fact::L2Capacity,
     {"L2", 126, 63, 126, "MiB", kPublished,
      "chipsandcheese.com; half of it where both dies keep a line"}},
    {Fact::L2Latency,
     {"latency of a load from L2, of the SM's own die", 300, 290, 310, "cycles",
      kPublished, "B300: 298 to 301; chipsandcheese.com: 150 ns"}},
    {Fact::L2FarLatency,
     {"the same from the other die, in addition", 150, 0, 300, "cycles",
      kPublished, "chipsandcheese.com: 300 at most"}},
    {Fact::HbmBytesPerNs,
     {"bytes out of HBM", 7200, 7000, 7300, "bytes/ns", kPublished,
      "tma2d, mcast"}},
    {Fact::HbmLatency,
     {"latency of a load from HBM", 850, 600, 1200, "cycles", kAssumed,
      "ldgsts: 1085 to 1200 for the first, 376 at least"}},

    {Fact::MbarrierTest,
     {"mbarrier.try_wait of a phase that is over", 75, 54, 80, "cycles",
      kDerived, "microbench-blackwell: 88.5 with an arrival; B300: 54"}},
    {Fact::MbarrierArrive,
     {"mbarrier.arrive, until the warp goes on", 13, 10, 14, "cycles", kAssumed,
      "as an H200"}},
    {Fact::MbarrierWoken,
     {"from an arrival to the result of the test that waits", 50, 30, 75,
      "cycles", kAssumed, "as an H200"}},
    {Fact::MbarrierLimit,
     {"mbarrier.try_wait that no loop repeats, until it gives up", 20, 10, 100,
      "cycles", kDerived,
      "mainloop: a stage takes as long for 2 stages as for 3"}},
    {Fact::BarrierBase,
     {"bar.sync, the part that warps share", 22, 22, 22, "cycles", kPublished,
      "B300: 22 + 2 cycles a warp"}},
    {Fact::BarrierWarp,
     {"bar.sync, for each warp", 2, 1.75, 2, "cycles", kPublished, "B300"}},
    {Fact::ClusterBarrier,
     {"barrier.cluster of two CTAs", 373, 102, 373, "cycles", kPublished,
      "B300; 102 where it orders nothing"}},
    {Fact::ClusterBarrierCta,
     {"barrier.cluster, for each CTA more", 7.3, 0, 10, "cycles", kAssumed,
      "as an H200"}},
    {Fact::ClusterArrive,
     {"arrival at an mbarrier of another CTA, beside one of its own", 56, 50,
      200, "cycles", kAssumed, "as an H200"}},
    {Fact::FenceDevice,
     {"fence of the device", 500, 300, 900, "cycles", kAssumed, ""}},

    {Fact::TcgenColumns,
     {"columns of tcgen05.mma with 128 rows an SM, a cycle", 2, 1.99, 2,
      "1/cycle", kPublished, "umma, N >= 128, all kinds"}},
    {Fact::TcgenReadBytes,
     {"its operands out of shared memory", 128, 128, 128, "bytes/cycle",
      kDerived, "umma, 128 rows: (128 + N) / 4 cycles for N < 128"}},
    {Fact::TcgenPairRead,
     {"a pair of 256 rows that waits for operands, more", 3, 2, 5, "cycles",
      kDerived, "umma: 43.0, 45.3 and 49.4 for N = 64, 80 and 96"}},
    {Fact::TcgenLeast,
     {"the shortest tcgen05.mma", 18, 8, 18, "cycles", kPublished,
      "umma, pair of 128 rows, N = 64, A in tensor memory"}},
    {Fact::TcgenLatency,
     {"from the end of a tcgen05.mma to its mbarrier's phase", 12, 5, 40,
      "cycles", kDerived, "umma: 104 + N / 2 cycles to the end of the wait"}},
    {Fact::TcgenPairLatency,
     {"the same of a pair", 46, 40, 80, "cycles", kDerived,
      "umma: 138 + N / 2, and 146 + N / 4 for 128 rows"}},
    {Fact::TcgenQueue,
     {"tcgen05.mma that wait for the pipe", 32, 4, 64, "", kAssumed, ""}},
    {Fact::TcgenCommit,
     {"tcgen05.commit with nothing before it, to its mbarrier's phase", 30, 28,
      60, "cycles", kPublished, "microbench-blackwell: 118.5 - 88.5"}},
    {Fact::TcgenCopy,
     {"tcgen05.cp, the pipe's work", 16, 4, 97, "cycles", kAssumed,
      "75 to 97 published for one after the other"}},
    {Fact::TcgenCopyLatency,
     {"tcgen05.cp, to the phase of its mbarrier", 80, 24, 168, "cycles",
      kDerived, "168 published with issue and wait"}},

    {Fact::TmemLoad,
     {"tcgen05.ld, for each register of a warp", 1, 0.5, 2, "cycles", kAssumed,
      "disputed; 128 lanes of 4 bytes"}},
    {Fact::TmemLoadLatency,
     {"tcgen05.ld, in addition", 24, 10, 60, "cycles", kAssumed, "disputed"}},
    {Fact::TmemStore,
     {"tcgen05.st, for each register of a warp", 0.6, 0.55, 0.65, "cycles",
      kDerived, "13, 21.6, 31.6 and 49.8 cycles for x1, x16, x32 and x64"}},
    {Fact::TmemStoreLatency,
     {"tcgen05.st, in addition", 12, 12, 13, "cycles", kDerived, "the same"}},
    {Fact::TmemAlloc,
     {"tcgen05.alloc", 253, 150, 400, "cycles", kPublished, "B300"}},

    {Fact::LaunchControl,
     {"clusterlaunchcontrol.try_cancel, to its answer", 600, 300, 900, "cycles",
      kAssumed, ""}},
};

/// What the chip lacks, and what another figure says.
constexpr Fact kAbsent[] = {
    Fact::L2Bytes,
    Fact::TensorMHz,
    Fact::TensorBusyMHz,
    Fact::TensorBusyTime,
    Fact::CopyGive,
    Fact::CopyStoreBytes,
    Fact::PortLoadBytes,
    Fact::L2LoadBytes,
    Fact::L2WriteBytes,
    Fact::L2WriteLines,
    Fact::L2Window,
    Fact::L2Parts,
    Fact::WgmmaColumns,
    Fact::WgmmaSharedLeast,
    Fact::WgmmaSharedColumns,
    Fact::WgmmaRegistersLeast,
    Fact::WgmmaLatency,
    Fact::WgmmaLatencyColumns,
};

/// Each fact must be named once: a new one does not compile until it is.
constexpr bool namesEachFactOnce() {
  std::array<unsigned, kFacts> count = {};
  for (const Row &row : kRows)
    ++count[unsigned(row.fact)];
  for (Fact fact : kAbsent)
    ++count[unsigned(fact)];
  for (unsigned n : count)
    if (n != 1)
      return false;
  return true;
}
static_assert(namesEachFactOnce());

constexpr std::array<Figure, kFacts> figures() {
  std::array<Figure, kFacts> all = {};
  for (const Row &row : kRows)
    all[unsigned(row.fact)] = row.figure;
  return all;
}

} // namespace

constexpr Chip mx::sim::time::kB200 = {"b200", "NVIDIA B200", "sm_100a", 100,
                                       figures()};
