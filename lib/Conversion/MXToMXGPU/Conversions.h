//===- Conversions.h - Operations to kernels --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The conversion of each operation: builds its kernel and replaces the
// operation by the launch. Fails with an error at an unsupported operation.
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

class KernelBuilder;

llvm::LogicalResult convertMatmul(MatmulOpInterface op,
                                  mlir::gpu::GPUModuleOp module,
                                  const target::TargetInfo &target);
llvm::LogicalResult convertAmax(AmaxOp op, mlir::gpu::GPUModuleOp module);
llvm::LogicalResult convertQuantize(FusedQuantizeOp op,
                                    mlir::gpu::GPUModuleOp module,
                                    const target::TargetInfo &target);

/// The operands that mx.dequantize and mx.pack_operand in #mxgpu.k_order have
/// in common; null where an operation has none.
struct DequantizeOperands {
  mlir::Operation *op;
  mlir::Value input, scales, globalScale, offsets, out;
  RaggedKind ragged; ///< the dimension that the expert groups divide
  int64_t blockSize;
  int64_t permuted; ///< columns that are permuted among each other, or 0

  /// Of one of both operations; none of others.
  static std::optional<DequantizeOperands> get(mlir::Operation *op);
};
/// Adds the other operations that its kernel computes to `done`.
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

/// Launches a kernel that packs an operand of 6-bit elements, and returns the
/// packed rows: device memory for the caller to free.
mlir::Value packSixBits(KernelBuilder &host, mlir::Value operand,
                        mlir::gpu::GPUModuleOp module);

/// Fills with zeros become the runtime's.
llvm::LogicalResult convertFill(mlir::linalg::FillOp op);
llvm::LogicalResult convertReduction(mlir::linalg::LinalgOp op,
                                     mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_CONVERSIONS_H
