//===- MXGPU.h - The mxgpu dialect ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
#include "mlir/Interfaces/ViewLikeInterface.h"
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
/// Returns true if threads arrive at the barrier. Only these kinds have a
/// thread count.
inline bool hasThreads(AsyncKind asyncKind) {
  return asyncKind == AsyncKind::Threads ||
         asyncKind == AsyncKind::AsyncThreads;
}

class FragmentType;
class MmaOp;
class RasterAttr;

/// Side-effect resources of a kernel: its memories and the barriers of rings.
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
/// Fields of a schedule with their defaults; see ScheduleAttr.
struct ScheduleFields {
  std::array<int64_t, 3> tile = {0, 0, 0};
  /// Number of stages. With 0, mx-select-schedule chooses as many as fit.
  int64_t stages = 0;
  /// Null selects the first applicable strategy.
  StrategyAttrInterface strategy;
  Workspace workspace = Workspace::None;
  int64_t splitK = 1;
  RasterOrder rasterOrder = RasterOrder::Linear;
  int64_t rasterGroup = 1;
  Epilogue epilogue = Epilogue::Direct;
  int64_t staging = 2;
  /// Registers per thread of each role, or empty; see ScheduleAttr.
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

/// Attribute that contains the schedule of an `mx.matmul`.
inline constexpr llvm::StringLiteral kScheduleAttrName = "mxgpu.schedule";
/// Attribute that lists the schedule cases of an `mx.matmul` with dynamic
/// sizes.
inline constexpr llvm::StringLiteral kSchedulesAttrName = "mxgpu.schedules";
/// Attribute with the number of rows for which the schedule of an
/// `mx.grouped_matmul` is chosen, if its arrays have space for more.
inline constexpr llvm::StringLiteral kExpectedRowsAttrName =
    "mxgpu.expected_rows";
/// Attribute that contains the schedule of an `mx.quantize` or `mx.dequantize`.
inline constexpr llvm::StringLiteral kQuantizeScheduleAttrName =
    "mxgpu.quantize_schedule";
/// Attribute that names the kernel of an `scf.parallel`.
inline constexpr llvm::StringLiteral kSimpleKernelAttrName =
    "mxgpu.simple_kernel";

/// Maximum number of stages. The sum of the stage sizes cannot overflow.
inline constexpr int64_t kMaxStages = 1024;

/// Largest access of a thread to shared memory.
inline constexpr int64_t kChunkBytes = 16;

/// Period of a swizzle in rows (PTX ISA, tensor swizzling modes).
inline constexpr int64_t kSwizzleRows = 8;

/// Maximum number of tile rows in a raster band.
inline constexpr int64_t kMaxRasterGroup = int64_t(1) << 20;

/// Returns the tensor core operand type of `type`, or none.
std::optional<target::MmaType> getMmaType(mlir::Type type);

/// Returns the bits of an element in memory: 8 for 6-bit elements.
int64_t getStoredBits(mlir::Type element);
/// Returns the bits of an element in shared memory: 8 for padded elements.
int64_t getSharedBits(mlir::Type element, bool padded);

/// Returns {rows, columns} of a fragment; a vector of rank 1 is one row.
llvm::SmallVector<int64_t, 2> getFragmentShape(mlir::VectorType type);

/// Returns true if scales in memory are tiled rather than row-major.
inline bool hasScaleTiles(mlir::MemRefType scales) {
  return scales.getRank() == 2 + kScaleTileRank;
}
/// Returns the shape of `buffer` in scale tiles, or none for other buffers.
std::optional<std::pair<int64_t, int64_t>> getScaleTiles(BufferType buffer);

/// Returns the name of the ring buffer behind the view `buffer`, or an empty
/// string if `buffer` is not a result of an acquire or wait.
llvm::StringRef getBufferName(mlir::Value buffer);

/// Fails unless copies of `map`'s boxes can fill `buffer`. If `buffer` contains
/// several boxes, `box` is the index of the copied box.
llvm::LogicalResult verifyLoad(mlir::Operation *op, TensorMapType map,
                               size_t coords, BufferType buffer,
                               mlir::Value box, bool multicast);
llvm::LogicalResult verifyScales(mlir::Operation *op, BufferType buffer,
                                 ScalesType scales);

/// Returns true if the enclosing kernel launches CTA pairs. Returns false
/// outside of kernels, because lowered functions mark each operation instead.
bool isInPair(mlir::Operation *op);
/// Returns the number of CTAs that share the reduction of a work tile.
int64_t getClusterSplits(mlir::Operation *op);
/// Returns the size of a partial f32 accumulator in shared memory, in bytes.
inline int64_t getPartialBytesOf(FragmentLayoutAttr layout) {
  return layout.getNumThreads() * layout.getNumValues() * 4;
}
/// Every chip supports clusters of 8 CTAs.
inline bool isClusterSplitCount(int64_t count) {
  return count >= 2 && count <= 8;
}

/// Registers of a partial accumulator are exchanged in chunks. All registers of
/// a chunk belong to the same CTA of a distributed sum.
inline constexpr int64_t kPartialChunk = 4;
/// Returns the first register that CTA `rank` adds in a distributed sum of
/// `count` registers over `ctas` CTAs.
inline int64_t getFirstOfShare(int64_t count, int64_t rank, int64_t ctas) {
  return count / kPartialChunk * rank / ctas * kPartialChunk;
}

inline RoleOp getRole(mlir::Operation *op) {
  return op->getParentOfType<RoleOp>();
}
/// Returns the roles in warp order. Fails if a role has no assigned warps.
llvm::FailureOr<llvm::SmallVector<RoleOp>> getRolesByWarp(KernelOp kernel);

/// Returns the joined kernels, or the kernel itself. The joined kernels must
/// not be lowered yet.
llvm::SmallVector<KernelOp> getParts(KernelOp kernel);
/// Returns why kernels cannot be joined, or an empty string.
std::string explainNotJoined(KernelOp a, KernelOp b);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MXGPU_H
