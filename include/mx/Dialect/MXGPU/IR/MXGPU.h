//===- MXGPU.h - The mxgpu dialect ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the mxgpu dialect: the structure of one warp-specialized kernel and
// its launch.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPU_H
#define MX_DIALECT_MXGPU_IR_MXGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mx/Dialect/MXGPU/IR/Mma.h"
#include "mx/Dialect/Shared/OperandOrder.h"
#include "mx/Dialect/Shared/ScaleRounding.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Descriptors.h"
#include <array>
#include <optional>
#include <string>

#include "mx/Dialect/MXGPU/IR/MXGPUDialect.h.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUEnums.h.inc"

namespace mx::mxgpu {
/// Whether a kind is threads that arrive: their number follows it.
inline bool hasThreads(AsyncKind asyncKind) {
  return asyncKind == AsyncKind::Threads ||
         asyncKind == AsyncKind::AsyncThreads;
}

class FragmentType;
class MmaOp;
class RasterAttr;

/// What operations of a kernel read and write: the memories of its CTA, and the
/// barriers by which roles hand stages to each other.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "SharedMemory"; }
};
struct TensorMemory : mlir::SideEffects::Resource::Base<TensorMemory> {
  llvm::StringRef getName() final { return "TensorMemory"; }
};
struct Barriers : mlir::SideEffects::Resource::Base<Barriers> {
  llvm::StringRef getName() final { return "Barriers"; }
};

} // namespace mx::mxgpu

#include "mx/Dialect/MXGPU/IR/MXGPUMmaInterfaces.h.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUStrategyInterfaces.h.inc"

namespace mx::mxgpu {
/// The fields of a schedule by name, with their defaults; see ScheduleAttr.
struct ScheduleFields {
  std::array<int64_t, 3> tile = {0, 0, 0};
  /// 0: as many as fit, which mx-select-schedule counts.
  int64_t stages = 0;
  /// Null where it is still open: the first that computes the matmul.
  StrategyAttrInterface strategy;
  Workspace workspace = Workspace::None;
  int64_t splitK = 1;
  RasterOrder rasterOrder = RasterOrder::Linear;
  int64_t rasterGroup = 1;
  Epilogue epilogue = Epilogue::Direct;
  int64_t staging = 2;
  /// Empty, or the registers of a thread of each role; see ScheduleAttr.
  llvm::SmallVector<int64_t> registers;
  CacheHint l2A = CacheHint::None, l2B = CacheHint::None,
            l2Out = CacheHint::None;
  bool pdl = false;
};
} // namespace mx::mxgpu

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUTypes.h.inc"

#define GET_OP_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUOps.h.inc"

namespace mx::mxgpu {

/// Name of the attribute by which an `mx.matmul` carries its schedule.
inline constexpr llvm::StringLiteral kScheduleAttrName = "mxgpu.schedule";
/// The same of one whose sizes are known only at run time: an array of cases.
inline constexpr llvm::StringLiteral kSchedulesAttrName = "mxgpu.schedules";
/// The same of an `mx.quantize` or `mx.dequantize`.
inline constexpr llvm::StringLiteral kQuantizeScheduleAttrName =
    "mxgpu.quantize_schedule";
/// The same of an `scf.parallel` that becomes a kernel of this name.
inline constexpr llvm::StringLiteral kSimpleKernelAttrName =
    "mxgpu.simple_kernel";

/// Most stages of a ring: more than any memory holds, few enough to add up.
inline constexpr int64_t kMaxStages = 1024;

/// What one access of a thread to shared memory moves at most.
inline constexpr int64_t kChunkBytes = 16;

/// Rows after which a swizzle repeats (PTX ISA, tensor swizzling modes).
inline constexpr int64_t kSwizzleRows = 8;

/// Most rows of tiles in a band of a raster: no grid has more.
inline constexpr int64_t kMaxRasterGroup = int64_t(1) << 20;

/// The tensor core's operand type of `type`, or none.
std::optional<target::MmaType> getMmaType(mlir::Type type);

/// Bits that an element takes in memory: those of 6 bits have a byte.
int64_t getStoredBits(mlir::Type element);
/// Bits that an element of a buffer takes in shared memory: a padded one has a
/// byte.
int64_t getSharedBits(mlir::Type element, bool padded);

/// Rows and columns of a fragment: a vector of one dimension is one row.
llvm::SmallVector<int64_t, 2> getFragmentShape(mlir::VectorType type);

/// Whether scales in memory lie in tiles, else row by row.
inline bool hasScaleTiles(mlir::MemRefType scales) {
  return scales.getRank() == 2 + kScaleTileRank;
}
/// Rows and columns of the matrix of scale tiles that a buffer holds, or none.
std::optional<std::pair<int64_t, int64_t>> getScaleTiles(BufferType buffer);

/// What a ring calls the buffer of which `buffer` is a view, or an empty string
/// where no take of a stage gave it.
llvm::StringRef getBufferName(mlir::Value buffer);

/// Fails unless a copy of boxes of `map` can fill `buffer`, of several boxes
/// the one with number `box`.
llvm::LogicalResult verifyLoad(mlir::Operation *op, TensorMapType map,
                               size_t coords, BufferType buffer,
                               mlir::Value box, bool multicast);
/// Fails unless `buffer` holds the scale factors of `scales`.
llvm::LogicalResult verifyScales(mlir::Operation *op, BufferType buffer,
                                 ScalesType scales);

/// Whether the CTAs of the kernel around an operation come in pairs. False
/// outside a kernel: functions that kernels become say it in each operation.
bool isInPair(mlir::Operation *op);
/// CTAs that share the reduction of a work tile of its kernel.
int64_t getClusterSplits(mlir::Operation *op);
/// Bytes of shared memory of a partial f32 accumulator.
inline int64_t getPartialBytesOf(FragmentLayoutAttr layout) {
  return layout.getNumThreads() * layout.getNumValues() * 4;
}
/// Whether as many may: clusters of any chip have up to 8 CTAs.
inline bool isClusterSplitCount(int64_t count) {
  return count >= 2 && count <= 8;
}

/// Registers that are words of a thread's partial, and of a sum that CTAs share
/// belong to one of them.
inline constexpr int64_t kPartialChunk = 4;
/// The first of a thread's `count` registers that CTA `rank` of `ctas` has of
/// a distributed sum.
inline int64_t getFirstOfShare(int64_t count, int64_t rank, int64_t ctas) {
  return count / kPartialChunk * rank / ctas * kPartialChunk;
}

/// The role that `op` is part of, or null.
inline RoleOp getRole(mlir::Operation *op) {
  return op->getParentOfType<RoleOp>();
}
/// Roles of a kernel in the order of their warps. Fails unless all have some.
llvm::FailureOr<llvm::SmallVector<RoleOp>> getRolesByWarp(KernelOp kernel);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MXGPU_H
