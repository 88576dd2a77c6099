//===- B200.cpp - Figures of an NVIDIA B200 -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This project has measured nothing on this chip. Some figures come from a
// B300 or an H200; their source says so, and their range is wide. Derived
// figures were fitted to published figures of engines, never to kernel times.
// simulator/docs/TimeModelDesign.md compares the model with published results.
//
// Sources:
// - umma, tma2d, mcast, mainloop: SemiAnalysisAI/microbench-blackwell.
// - B300: Antoniomv7/gb300-microbench.
// - trace: gau-nernst/learn-cuda, 02e_matmul_sm100, trace_v5 and trace_v6.
//===----------------------------------------------------------------------===//

#include "Table.h"

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

constexpr Row kB200Rows[] = {
    {Fact::Multiprocessors,
     {148, 148, 148, kPublished, "chipsandcheese.com; 2 dies of 74"}},
    {Fact::BoostMHz,
     {1965, 1965, 1965, kPublished,
      "tma2d: 1.962 GHz; flashinfer#2899: 1580 MHz sustained at 1000 W"}},
    {Fact::LaunchOverhead,
     {0.55, 0.5, 1.2, kAssumed,
      "published: 1.2 us including the start of the kernel"}},
    {Fact::KernelStart,
     {970, 670, 2470, kDerived,
      "published: 1.2 us in a graph, minus 0.55 us and the flush"}},
    {Fact::CtaStart,
     {2100, 1800, 3000, kDerived, "trace: 1312 ns; 1.6 GHz assumed"}},
    {Fact::CtaIssue, {20, 14, 33, kAssumed, "as on an H200"}},
    {Fact::CtaEnd, {0.95, 0.75, 1.1, kAssumed, "as on an H200"}},
    {Fact::CtaGive, {0.28, 0.2, 0.4, kAssumed, "as on an H200"}},
    {Fact::MemoryEnd, {330, 300, 400, kAssumed, "as on an H200"}},

    {Fact::AluLatency, {4, 4, 5, kAssumed, "as on an H200"}},
    {Fact::PredicateLatency, {13, 13, 13, kAssumed, "as on an H200"}},
    {Fact::FloatLatency, {4, 4, 5, kAssumed, "as on an H200"}},
    {Fact::SpecialLatency, {17, 17, 23, kAssumed, "as on an H200"}},
    {Fact::WarpLatency, {24, 20, 30, kAssumed, "as on an H200"}},
    {Fact::ReduxLatency, {38, 24, 44, kAssumed, "as on an H200"}},
    {Fact::MatchLatency, {369, 24, 400, kAssumed, "as on an H200"}},
    {Fact::ConstantLatency, {24, 20, 40, kAssumed, "as on an H200"}},
    {Fact::ConstantMiss, {73, 0, 150, kAssumed, "as on an H200"}},
    {Fact::BranchTaken, {7, 6, 12, kAssumed, "as on an H200"}},
    {Fact::BranchLate, {3, 0, 7, kAssumed, "as on an H200"}},

    {Fact::HighProduct, {2, 0, 3, kAssumed, "as on an H200"}},
    {Fact::Yield, {34, 0, 42, kAssumed, "as on an H200"}},
    {Fact::SharedBytes,
     {128, 124, 128, kPublished, "together.ai, FlashAttention-4"}},
    {Fact::SharedLatency, {26, 24, 29, kPublished, "B300"}},
    {Fact::AtomicLatency, {38, 29, 60, kAssumed, "as on an H200"}},
    {Fact::SharedQueue, {64, 16, 256, kAssumed, "as on an H200"}},
    {Fact::L1Bytes, {256, 256, 256, kPublished, "CUDA C++ Programming Guide"}},
    {Fact::L1Latency, {39, 38, 42, kPublished, "chipsandcheese.com"}},

    {Fact::MmaSyncProducts, {1024, 512, 2048, kAssumed, "as on an A100"}},
    {Fact::MmaSyncLatency, {33, 24, 40, kAssumed, "as on an H200"}},

    {Fact::CopyIssue,
     {48, 1, 65, kPublished,
      "B300: 65 for a single copy, 48 to 53 back to back"}},
    {Fact::CopyBytes, {127, 120, 128, kPublished, "B300, one SM alone"}},
    {Fact::CopyRow,
     {1, 0.98, 1.06, kDerived,
      "mainloop: 192 rows in 148 ns, 384 in 298, at 1.28 GHz"}},
    {Fact::CopyLatency,
     {100, 80, 250, kDerived, "mainloop: boxes of 10 to 48 KiB in L2"}},
    {Fact::CopyHbmLatency,
     {580, 400, 1100, kDerived,
      "tma2d: 927 cycles for a box of 1 KiB, 1413 for the first"}},
    {Fact::CopyHbmCost, {1, 1, 1.03, kPublished, "tma2d: 7.0 to 7.26 TB/s"}},

    {Fact::CopyMapChanged, {405, 300, 600, kAssumed, "as on an H200"}},
    {Fact::PortBytes, {128, 71, 128, kPublished, "B300, one SM alone"}},
    {Fact::L2BytesPerNs,
     {20500, 12000, 20500, kPublished,
      "B300: 71 per SM; mcast: 14.2 TB/s if 16 SMs read the same data"}},
    {Fact::L2Capacity,
     {126, 63, 126, kPublished,
      "chipsandcheese.com; half of it if both dies keep a line"}},
    {Fact::L2Latency,
     {300, 290, 310, kPublished,
      "B300: 298 to 301; chipsandcheese.com: 150 ns"},
     "latency of a load from L2 on the SM's own die"},
    {Fact::L2FarLatency,
     {150, 0, 300, kPublished, "chipsandcheese.com: at most 300"}},
    {Fact::HbmBytesPerNs,
     {7200, 7000, 7300, kPublished, "tma2d, mcast"},
     "HBM bandwidth"},
    {Fact::HbmLatency,
     {850, 600, 1200, kAssumed,
      "ldgsts: 1085 to 1200 for the first load, at least 376"},
     "latency of a load from HBM"},
    {Fact::HbmChannels,
     {512, 128, 1024, kAssumed, "8 stacks of 32 pseudo channels, with banks"}},
    {Fact::HbmChannelBytes, {512, 256, 2048, kAssumed, "as on an H200"}},

    {Fact::MbarrierTest,
     {75, 54, 80, kDerived,
      "microbench-blackwell: 88.5 with an arrival; B300: 54"}},
    {Fact::MbarrierArrive, {13, 10, 14, kAssumed, "as on an H200"}},
    {Fact::MbarrierWoken, {50, 30, 75, kAssumed, "as on an H200"}},
    {Fact::MbarrierLimit,
     {20, 10, 100, kDerived,
      "mainloop: the time per stage is equal for 2 and 3 stages"}},
    {Fact::BarrierBase,
     {22, 22, 22, kPublished, "B300: 22 cycles plus 2 per warp"}},
    {Fact::BarrierWarp, {2, 1.75, 2, kPublished, "B300"}},
    {Fact::ClusterBarrier,
     {373, 102, 373, kPublished, "B300; 102 if the barrier orders nothing"}},
    {Fact::ClusterBarrierCta, {7.3, 0, 10, kAssumed, "as on an H200"}},
    {Fact::ClusterArrive, {56, 50, 200, kAssumed, "as on an H200"}},
    {Fact::FenceDevice, {500, 300, 900, kAssumed, ""}},

    {Fact::TcgenColumns, {2, 1.99, 2, kPublished, "umma, N >= 128, all kinds"}},
    {Fact::TcgenReadBytes,
     {128, 128, 128, kDerived,
      "umma, 128 rows: (128 + N) / 4 cycles for N < 128"}},
    {Fact::TcgenPairRead,
     {3, 2, 5, kDerived, "umma: 43.0, 45.3 and 49.4 for N = 64, 80 and 96"}},
    {Fact::TcgenLeast,
     {18, 8, 18, kPublished,
      "umma, pair of 128 rows, N = 64, A in tensor memory"}},
    {Fact::TcgenLatency,
     {12, 5, 40, kDerived, "umma: 104 + N / 2 cycles to the end of the wait"}},
    {Fact::TcgenPairLatency,
     {46, 40, 80, kDerived, "umma: 138 + N / 2, and 146 + N / 4 for 128 rows"}},
    {Fact::TcgenQueue, {32, 4, 64, kAssumed, ""}},
    {Fact::TcgenCommit,
     {30, 28, 60, kPublished, "microbench-blackwell: 118.5 - 88.5"}},
    {Fact::TcgenCopy,
     {16, 4, 97, kAssumed, "published: 75 to 97 for consecutive copies"}},
    {Fact::TcgenCopyLatency,
     {80, 24, 168, kDerived, "published: 168 including issue and wait"}},

    {Fact::TmemLoad,
     {1, 0.5, 2, kAssumed, "published results disagree; 128 lanes of 4 bytes"}},
    {Fact::TmemLoadLatency,
     {24, 10, 60, kAssumed, "published results disagree"}},
    {Fact::TmemStore,
     {0.6, 0.55, 0.65, kDerived,
      "13, 21.6, 31.6 and 49.8 cycles for x1, x16, x32 and x64"}},
    {Fact::TmemStoreLatency,
     {12, 12, 13, kDerived,
      "13, 21.6, 31.6 and 49.8 cycles for x1, x16, x32 and x64"}},
    {Fact::TmemAlloc, {253, 150, 400, kPublished, "B300"}},

    {Fact::LaunchControl, {600, 300, 900, kAssumed, ""}},
};

/// Figures that the chip lacks or that other figures cover.
constexpr Fact kB200Absent[] = {
    Fact::L2Bytes,
    Fact::TensorMHz,
    Fact::TensorBusyMHz,
    Fact::TensorBusyTime,
    Fact::CopyGive,
    Fact::CopyMap,
    Fact::CopyPlainBytes,
    Fact::CopyStoreBytes,
    Fact::CopyAddBytes,
    Fact::PortLoadBytes,
    Fact::L2LoadBytes,
    Fact::L2WriteBytes,
    Fact::L2WriteLines,
    Fact::L2StoreBytes,
    Fact::Gpcs,
    Fact::L2Window,
    Fact::L2Parts,
    Fact::L2Spread,
    Fact::HbmSpread,
    Fact::WgmmaColumns,
    Fact::WgmmaSharedLeast,
    Fact::WgmmaSharedColumns,
    Fact::WgmmaRegistersLeast,
    Fact::WgmmaLatency,
    Fact::WgmmaLatencyColumns,
    Fact::WgmmaRegistersColumns,
    Fact::WgmmaLatencyLate,
    Fact::WgmmaSlots,
    Fact::WgmmaRegistersSlots,
    Fact::WgmmaRegistersRead,
    Fact::WgmmaStart,
    Fact::WgmmaStartShare,
    Fact::WgmmaTurn,
};
static_assert(namesEachFactOnce(kB200Rows, kB200Absent));

} // namespace

constexpr Chip mx::sim::time::kB200 = {"b200", "NVIDIA B200", "sm_100a", 100,
                                       figuresOf(kB200Rows)};
