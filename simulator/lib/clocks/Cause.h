//===- Cause.h - Causes of modeled time -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each modeled cycle is attributed to a figure of the chip, such as a latency
// or a rate. Paths add up cycles by figure. time/Facts.h describes the figures.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_CAUSE_H
#define MXSIM_LIB_CLOCKS_CAUSE_H

#include <cstdint>

namespace mx::sim::time {

/// Figures of a chip, in the order of its table (time/chips). A table may omit
/// figures.
enum class Fact : uint8_t {
  // The chip.
  Multiprocessors,
  BoostMHz,
  TensorMHz,
  TensorBusyMHz,
  TensorBusyTime,
  LaunchOverhead,
  KernelStart,
  CtaStart,
  CtaIssue,
  CtaEnd,
  CtaGive,
  MemoryEnd,
  // Schedulers and pipes.
  AluLatency,
  PredicateLatency,
  FloatLatency,
  SpecialLatency,
  WarpLatency,
  ReduxLatency,
  MatchLatency,
  ConstantLatency,
  ConstantMiss,
  BranchTaken,
  BranchLate,
  HighProduct,
  Yield,
  // Shared memory.
  SharedBytes,
  SharedLatency,
  AtomicLatency,
  SharedQueue,
  L1Bytes,
  L1Latency,
  // The tensor core of wgmma, for the whole SM.
  WgmmaColumns,
  WgmmaSharedLeast,
  WgmmaSharedColumns,
  WgmmaRegistersLeast,
  WgmmaLatency,
  WgmmaLatencyColumns,
  WgmmaRegistersColumns,
  WgmmaLatencyLate,
  WgmmaSlots,
  WgmmaRegistersSlots,
  WgmmaRegistersRead,
  WgmmaStart,
  WgmmaStartShare,
  WgmmaTurn,
  MmaSyncProducts,
  MmaSyncLatency,
  // The copy engine.
  CopyGive,
  CopyIssue,
  CopyMap,
  CopyBytes,
  CopyPlainBytes,
  CopyRow,
  CopyStoreBytes,
  CopyAddBytes,
  CopyLatency,
  CopyHbmLatency,
  CopyHbmCost,
  CopyMapChanged,
  // L2 and HBM.
  PortBytes,
  PortLoadBytes,
  L2Bytes,
  L2LoadBytes,
  L2WriteBytes,
  L2StoreBytes,
  L2WriteLines,
  L2Window,
  Gpcs,
  L2Capacity,
  L2Parts,
  L2Latency,
  L2Spread,
  HbmBytesPerNs,
  HbmLatency,
  HbmSpread,
  HbmChannels,
  HbmChannelBytes,
  // Barriers.
  MbarrierTest,
  MbarrierArrive,
  MbarrierWoken,
  BarrierBase,
  BarrierWarp,
  ClusterBarrier,
  ClusterBarrierCta,
  ClusterArrive,
  FenceDevice,
  // The tensor core of tcgen05.
  TcgenColumns,
  TcgenReadBytes,
  TcgenPairRead,
  TcgenLeast,
  TcgenLatency,
  TcgenPairLatency,
  TcgenQueue,
  TcgenCommit,
  TcgenCopy,
  TcgenCopyLatency,
  // Tensor memory.
  TmemLoad,
  TmemLoadLatency,
  TmemStore,
  TmemStoreLatency,
  TmemAlloc,
  // Figures of later chips only.
  L2BytesPerNs,
  L2FarLatency,
  LaunchControl,
  MbarrierLimit,
  Count
};
constexpr unsigned kFacts = unsigned(Fact::Count);

/// A Fact, or one of the two constants below.
using Cause = Fact;
/// The in-order issue of a scheduler or a pipe.
constexpr Cause kIssue = Cause(kFacts);
/// Everything else.
constexpr Cause kOther = Cause(kFacts + 1);
constexpr unsigned kCauses = kFacts + 2;

/// Memory serving a request.
enum class Source : uint8_t { Shared, L1, L2Port, L2, Hbm };

} // namespace mx::sim::time

#endif // MXSIM_LIB_CLOCKS_CAUSE_H
