//===- KernelBuilder.h - What the builders of kernels share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A builder for kernels and the host code that launches them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_KERNELBUILDER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_KERNELBUILDER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

namespace mx::mxgpu {

/// CTAs that a grid can have; kernels number work tiles in 32 bits.
inline constexpr int64_t kMaxWorkTiles = target::kMaxGridX;

/// Rows and columns that tiles of up to 256 can cover: coordinates of bulk
/// copies are signed and have 32 bits (PTX ISA, cp.async.bulk.tensor).
inline constexpr int64_t kMaxExtent =
    std::numeric_limits<int32_t>::max() / 256 * 256;

/// Bytes that threads and the copy engine read at once, at a multiple of them.
inline constexpr int64_t kLoadBytes = 16;

/// The message of `KernelBuilder::requireAtMost`, around the name of the size.
inline constexpr llvm::StringLiteral kAtMostMessage = "expected at most %lld ",
                                     kFoundMessage = ", found %lld";

/// Fails if a size that types know is above the limit of a launch in `root`.
llvm::LogicalResult verifyKnownSizes(mlir::Operation *root);

class KernelBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  /// Tiles that suffice for the rows of all groups, whatever their sizes, if
  /// each is given whole ones.
  mlir::Value packedTiles(mlir::Value rows, int64_t tile, mlir::Value offsets);
  /// Size of a dimension: a constant where the type knows it.
  mlir::Value dim(mlir::Value memref, int64_t dim);

  /// Requires at run time that a size is `expected`; `what` names it.
  void requireSize(mlir::Value found, mlir::Value expected,
                   const llvm::Twine &what);
  /// Requires at run time that a size is a multiple of `factor`; says which are
  /// nearest.
  void requireMultiple(mlir::Value found, int64_t factor,
                       const llvm::Twine &what);

  /// Requires at run time that there are not more of `what` than `limit`.
  void requireAtMost(mlir::Value found, int64_t limit, const llvm::Twine &what);

  /// Requires at run time that `offsets`, if there are some, have a group.
  void requireGroups(mlir::Value offsets);

  /// The insertion point moves into a branch that runs if `condition` holds.
  void beginIf(mlir::Value condition);

  /// A kernel with an empty body and `arguments`, in the module's gpu.module;
  /// the builder's insertion point does not move. Its name begins with that of
  /// the function around it and `what` it does.
  KernelOp kernel(mlir::gpu::GPUModuleOp module, llvm::StringRef what,
                  mlir::TypeRange arguments, ScheduleAttr schedule = {});
  /// Launches `kernel` with one CTA for each work tile, but no more than
  /// the device runs at once where the kernel fills an SM.
  void launch(KernelOp kernel, mlir::Value grid, mlir::ValueRange arguments);

  /// A ring whose place in memory is not chosen yet.
  mlir::Value ring(RingType type, llvm::StringRef name);
  /// Operations with one block as a body; the insertion point moves into it.
  RoleOp role(llvm::StringRef name, int64_t warps, bool elected,
              bool onLeader = false);
  /// Numbers of this thread's warp within its role, and of its lane.
  std::pair<mlir::Value, mlir::Value> warpAndLane();
  /// If work tiles come through a ring, the end of the body goes on to the next
  /// one.
  ForEachWorkTileOp forEachWorkTile(mlir::Value work);
  /// Its body yields the carried values as they are until told otherwise.
  ForEachKOp forEachK(mlir::Value start, mlir::Value end, int64_t step,
                      mlir::ValueRange initial = {});
};

/// The module's gpu.module for `target`, made at first use.
mlir::gpu::GPUModuleOp getKernelModule(mlir::ModuleOp module,
                                       const target::TargetInfo &target);

/// Numbers that a kernel computes with.
bool isKernelNumber(mlir::Type type);
/// Whether an NVPTX instruction computes this operation of the math dialect,
/// with the same bits as anywhere else. Others are expanded by mx-expand-math.
bool hasKernelInstruction(mlir::Operation *op);

/// Builds the kernel of an operation and launches it in its place. Fails with
/// an error at the operation where it is not supported.
llvm::LogicalResult convertMatmul(MatmulOpInterface op,
                                  mlir::gpu::GPUModuleOp module,
                                  const target::TargetInfo &target);
llvm::LogicalResult convertAmax(AmaxOp op, mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertQuantize(QuantizeOp op,
                                    mlir::gpu::GPUModuleOp module,
                                    const target::TargetInfo &target);
/// What mx.dequantize and mx.permute_reduction have in common. Null where there
/// is none.
struct DequantizeOperands {
  mlir::Operation *op;
  mlir::Value input, scales, globalScale, offsets, out;
  RaggedKind ragged; ///< what the groups divide: rows, or columns
  int64_t blockSize;
  bool isPermuted;

  /// Of one of both operations; none of others.
  static std::optional<DequantizeOperands> get(mlir::Operation *op);
};
/// Adds to `done` what its kernel does of other operations.
llvm::LogicalResult
convertDequantize(DequantizeOperands operands, mlir::gpu::GPUModuleOp module,
                  llvm::SmallPtrSetImpl<mlir::Operation *> &done);

llvm::LogicalResult convertCombine(CombineOp op, mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertGroupRows(GroupRowsOp op,
                                     mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertRelayout(RelayoutOp op,
                                    mlir::gpu::GPUModuleOp module);

llvm::LogicalResult convertPackWeights(PackWeightsOp op,
                                       mlir::gpu::GPUModuleOp module);

/// The same for linalg operations: fills with zeros become the runtime's.
llvm::LogicalResult convertFill(mlir::linalg::FillOp op);
bool isMemset(mlir::linalg::FillOp op);
llvm::LogicalResult convertReduction(mlir::linalg::LinalgOp op,
                                     mlir::gpu::GPUModuleOp module);

/// The address of the first element of a memref, which may be a part of
/// another.
mlir::Value getAddress(KernelBuilder &host, mlir::Value memref);

/// Whether the rows of a matrix of this type, elements of whole bytes, are
/// contiguous, though they may lie apart.
bool mayHaveStride(mlir::MemRefType type);
/// Fails unless they lie at multiples of `multiple` elements, as far as the
/// type says, and says which are nearest; messages call the matrix `name`.
llvm::LogicalResult verifyRowStride(mlir::Operation *op, mlir::MemRefType type,
                                    int64_t multiple, llvm::StringRef name);
/// Requires the same at run time, and that the first begins at a multiple of
/// `alignment` bytes.
void requireRows(KernelBuilder &host, mlir::Value matrix, int64_t multiple,
                 int64_t alignment, const llvm::Twine &name);

/// Requires a finite NVFP4 factor above 0 at run time, and returns the factor.
/// Replaces any other factor from memory by NaN.
mlir::Value checkPositive(KernelBuilder &host, mlir::Value scale);

/// Writes zeros over a whole memref, before what follows.
void clearMemory(KernelBuilder &host, mlir::Value memref);

/// The bytes that mx-store-as-bytes makes of elements of 4 and 6 bits.
mlir::Value toBytes(KernelBuilder &host, mlir::Value elements);

/// A matrix of one row that shows the same bytes, of a memref without gaps.
mlir::Value toRow(KernelBuilder &host, mlir::Value memref);

/// Whether a quantizer's tiles go through shared memory, or else rows through
/// registers only.
bool isByTiles(QuantizeOp op);

/// The schedule that measurements advise.
QuantizeScheduleAttr selectQuantizeSchedule(QuantizeOp op,
                                            const target::TargetInfo &target);
QuantizeScheduleAttr
selectDequantizeSchedule(const DequantizeOperands &operands);

/// Fails unless whole passes of a schedule's threads over rows in pieces of
/// blocks cover its tile.
llvm::LogicalResult verifyRowSchedule(mlir::Operation *op, int64_t block,
                                      QuantizeScheduleAttr schedule);
/// Requires at run time that scales are those of `rows x columns` elements, in
/// `rowTiles` tiles of rows, if in tiles, where groups have their own. Messages
/// call them `name`. The first `batch` dimensions are those of a batch.
void requireScaleSizes(KernelBuilder &host, mlir::Value scales,
                       mlir::Value rows, mlir::Value columns, int64_t block,
                       mlir::Value rowTiles = {},
                       llvm::StringRef name = "scales", int64_t batch = 0);

/// The same memory with `count` leading dimensions as one, or none in place of
/// none.
mlir::Value collapseLeading(KernelBuilder &host, mlir::Value memref,
                            int64_t count);

/// Launches a kernel that packs an operand of 6-bit elements, and returns the
/// packed rows: device memory for the caller to free.
mlir::Value packSixBits(KernelBuilder &host, mlir::Value operand,
                        mlir::gpu::GPUModuleOp module);

/// All threads of a role take pieces of the rows of a tile: adjacent threads
/// adjacent pieces, and each of them every `step` rows.
struct TileThreads {
  int64_t step;            ///< rows that all threads take at a time
  mlir::Value row, column; ///< of the first element of the first piece

  /// In a tile of `columns` columns, in pieces of `vector` elements.
  static TileThreads get(KernelBuilder &body, int64_t threads, int64_t columns,
                         int64_t vector);
};

/// Elements of a row that a CTA of forEachElement takes, a thread each.
inline constexpr int64_t kElementThreads = 256;

/// Work tiles that are pieces of a row of `count` elements, and a role whose
/// threads take one each. The builder is left where it exists; the result is
/// its number.
mlir::Value forEachElement(KernelBuilder &body, llvm::StringRef role,
                           mlir::Value count);

/// Builds with `body`, and launches, a kernel whose threads take one of `count`
/// elements each: `emit` is given the kernel's arguments and the element.
void launchForEachElement(
    KernelBuilder &host, KernelBuilder &body, mlir::gpu::GPUModuleOp module,
    llvm::StringRef name, mlir::Value count,
    llvm::ArrayRef<mlir::Value> arguments,
    llvm::function_ref<void(mlir::Block::BlockArgListType, mlir::Value)> emit);

/// Device memory for a list of i32, which the host frees.
mlir::Value allocateList(KernelBuilder &host, mlir::Value size);
/// An entry of a list of integers, as an index.
mlir::Value loadIndex(KernelBuilder &body, mlir::Value list, mlir::Value place);
/// Stores an index in a list of i32.
void storeIndex(KernelBuilder &body, mlir::Value number, mlir::Value list,
                mlir::ValueRange place);

/// Work tiles that are tiles of a matrix, and a role that takes them. The
/// builder is left in the loop over them, `row` and `column` are of the matrix.
TileThreads forEachTile(KernelBuilder &body, llvm::StringRef role,
                        mlir::Value rows, mlir::Value columns,
                        llvm::ArrayRef<int64_t> tile, int64_t threads,
                        int64_t vector, RasterAttr raster);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_KERNELBUILDER_H
