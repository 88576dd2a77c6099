//===- Conversions.h - Conversions of operations to kernels --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each conversion replaces an operation with a kernel launch, or emits an error
// if the operation is not supported.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_CONVERSIONS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_CONVERSIONS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Target/TargetInfo.h"

namespace mx::mxgpu {

class KernelBuilder;

llvm::LogicalResult convertMatmul(MatmulOpInterface op,
                                  mlir::gpu::GPUModuleOp module,
                                  const target::TargetInfo &target);
llvm::LogicalResult convertAmax(AmaxOp op, mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertRowClasses(RowClassesOp op,
                                      mlir::gpu::GPUModuleOp module);
/// Returns whether a bit of the row classes is set. All threads of the CTA
/// share the loads, outside of roles.
mlir::Value isAnySet(KernelBuilder &body, mlir::ValueRange classes);
/// Adds an operation that shares the kernel to `done`.
llvm::LogicalResult
convertQuantize(FusedQuantizeOp op, mlir::gpu::GPUModuleOp module,
                const target::TargetInfo &target,
                llvm::SmallPtrSetImpl<mlir::Operation *> &done);

/// Returns true if the quantizer's kernel can store to windows of peers.
bool canStoreToPeers(FusedQuantizeOp op);

/// Operands that mx.dequantize and mx.pack_operand with #mxgpu.k_order share.
/// Absent operands are null.
struct DequantizeOperands {
  mlir::Operation *op;
  mlir::Value input, scales, globalScale, offsets, out;
  RaggedKind ragged; ///< dimension divided by the expert groups
  BlockShape blockSize;
  int64_t permuted; ///< columns permuted together, or 0

  /// Returns the operands if `op` is such an operation.
  static std::optional<DequantizeOperands> get(mlir::Operation *op);
};
/// Adds the operations fused into the kernel to `done`.
llvm::LogicalResult
convertDequantize(DequantizeOperands operands, mlir::gpu::GPUModuleOp module,
                  llvm::SmallPtrSetImpl<mlir::Operation *> &done);

/// i32 lists of the rows of each token, in device memory.
struct RowLists {
  mlir::Value counts;    ///< rows of each token, then allocated entries
  mlir::Value starts;    ///< start of each token's range
  mlir::Value places;    ///< number of each row in its token, then sorted rows
  mlir::Value unordered; ///< rows of each token, unsorted
};
/// Lists built by an earlier `mx.combine` of the same rows.
using CombineLists = llvm::DenseMap<mlir::Operation *, RowLists>;

llvm::LogicalResult convertCombine(CombineOp op, mlir::gpu::GPUModuleOp module,
                                   CombineLists &lists);
llvm::LogicalResult convertGatherRows(GatherRowsOp op,
                                      mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertGroupRows(GroupRowsOp op,
                                     mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertRelayout(RelayoutOp op,
                                    mlir::gpu::GPUModuleOp module);
/// Launches a kernel that copies compact scales to tiles, for matrices with
/// `rows` rows. The word of a row contains four 1-byte scales or fewer wider
/// scales.
mlir::Value tileScales(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                       mlir::Value scales, mlir::Value rows, int64_t blockRows);
llvm::LogicalResult convertPackOperand(PackOperandOp op,
                                       mlir::gpu::GPUModuleOp module);

/// Requires `outs` at run time to have the shape of the input in its order.
void requirePackedShape(KernelBuilder &host, PackOperandOp op);
/// Returns the only use of quantized elements if a kernel can quantize and pack
/// them at once, or null.
PackOperandOp findPackedUse(FusedQuantizeOp op);
/// Replaces both operations by a kernel.
void buildPackedQuantizer(FusedQuantizeOp op, PackOperandOp pack,
                          mlir::gpu::GPUModuleOp module);

/// Launches a kernel to pack 6-bit elements, and returns the packed rows in
/// device memory. The caller frees them.
mlir::Value packSixBits(KernelBuilder &host, mlir::Value operand,
                        mlir::gpu::GPUModuleOp module);

/// Converts a fill with zeros to gpu.memset.
llvm::LogicalResult convertFill(mlir::linalg::FillOp op);
llvm::LogicalResult convertReduction(mlir::linalg::LinalgOp op,
                                     mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_CONVERSIONS_H
