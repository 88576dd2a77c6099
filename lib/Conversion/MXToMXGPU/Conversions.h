//===- Conversions.h - Conversions of operations to kernels --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each conversion builds a kernel and replaces the operation by a launch, or
// emits an error at an unsupported operation.
//
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
llvm::LogicalResult convertQuantize(FusedQuantizeOp op,
                                    mlir::gpu::GPUModuleOp module,
                                    const target::TargetInfo &target);

/// Common operands of mx.dequantize and mx.pack_operand in #mxgpu.k_order; null
/// if absent.
struct DequantizeOperands {
  mlir::Operation *op;
  mlir::Value input, scales, globalScale, offsets, out;
  RaggedKind ragged; ///< dimension that the expert groups divide
  int64_t blockSize;
  int64_t permuted; ///< columns permuted together, or 0

  /// Returns the operands if `op` is such an operation.
  static std::optional<DequantizeOperands> get(mlir::Operation *op);
};
/// Adds the operations fused into the kernel to `done`.
llvm::LogicalResult
convertDequantize(DequantizeOperands operands, mlir::gpu::GPUModuleOp module,
                  llvm::SmallPtrSetImpl<mlir::Operation *> &done);

llvm::LogicalResult convertCombine(CombineOp op, mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertGroupRows(GroupRowsOp op,
                                     mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertRelayout(RelayoutOp op,
                                    mlir::gpu::GPUModuleOp module);
/// Puts compact scales of matrices of `rows` in tiles, by a kernel. Scales of
/// several bytes share the word of a row with as many fewer blocks.
mlir::Value tileScales(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                       mlir::Value scales, mlir::Value rows, int64_t blockRows);
llvm::LogicalResult convertPackOperand(PackOperandOp op,
                                       mlir::gpu::GPUModuleOp module);

/// Launches a kernel that packs 6-bit elements, and returns the packed rows in
/// device memory. The caller frees them.
mlir::Value packSixBits(KernelBuilder &host, mlir::Value operand,
                        mlir::gpu::GPUModuleOp module);

/// Converts a fill with zeros to gpu.memset.
llvm::LogicalResult convertFill(mlir::linalg::FillOp op);
llvm::LogicalResult convertReduction(mlir::linalg::LinalgOp op,
                                     mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_CONVERSIONS_H
