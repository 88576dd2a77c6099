//===- MatmulKernel.h - State of a kernel under construction -- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common base of the builder's components. Contains the matmul, the builders of
// host and kernel code, and named kernel arguments. WorkPolicy.h, MainLoop.h
// and EpiloguePolicy.h define the policies, which BuildMatmul.cpp combines.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_MATMULKERNEL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_MATMULKERNEL_H

#include "../../Builder/KernelBuilder.h"
#include "../Strategies/Strategy.h"

namespace mx::mxgpu {

/// Arguments of matmul kernels. `getMatmulArguments` and `getSumArguments`
/// select the arguments of a kernel.
enum class Arg {
  AMap,         ///< Tensor maps of operands and scales.
  BMap,         //
  AScalesMap,   //
  BScalesMap,   //
  BScales,      ///< Scales of B, loaded by threads.
  Partials,     ///< Partial accumulators of a split reduction.
  Result,       ///< Result matrix.
  Offsets,      ///< End offsets of expert groups.
  K,            ///< Size of the reduction.
  Alpha,        ///< Factor of the accumulator.
  Captures,     ///< Values captured by the epilogue region.
  ResultMap,    ///< Tensor map of the result.
  MatrixRows,   ///< Rows of each matrix, for masked groups.
  ScatterRows,  ///< Result row of each scattered row.
  AScaleRange,  ///< Tables of scale ranges of A and B tiles.
  BScaleRange,  //
  ResultScales, ///< Scales of a quantized result.
  AClasses,     ///< Row classes of A and B.
  BClasses,     //
  Columns,      ///< Number of computed columns, if not all, and first tile.
  FirstTile,    //
};

class KernelArguments {
public:
  /// Adds an argument unless `value` is null. An attribute becomes a constant
  /// in the kernel instead of an argument.
  void add(Arg name, mlir::OpFoldResult value);
  void addAll(Arg name, mlir::ValueRange values);

  /// Returns the operands of the launch.
  llvm::SmallVector<mlir::Value> getHostValues() const;

  /// Maps names to values in `kernel`, and creates constants with `body`.
  void enter(KernelOp kernel, KernelBuilder &body);
  /// Returns the kernel value, or null.
  mlir::Value get(Arg name) const;
  llvm::ArrayRef<mlir::Value> getAll(Arg name) const;

private:
  struct Entry {
    Arg name;
    llvm::SmallVector<mlir::OpFoldResult> onHost;
    llvm::SmallVector<mlir::Value> inKernel;
  };
  llvm::SmallVector<Entry> entries;
};

/// Returns the size of a dimension, as an attribute if static.
mlir::OpFoldResult getSize(KernelBuilder &host, mlir::Value memref,
                           int64_t dim);

struct ScheduledMatmul {
  ScheduledMatmul(MatmulOpInterface op, ScheduleAttr schedule,
                  const target::TargetInfo &target);

  /// Returns the number of result columns per tile. Each B matrix contributes
  /// this number of columns to the tile.
  int64_t getTileColumns() const;
  /// Return the number of rows of A and B that a CTA holds per tile.
  int64_t getARows() const;
  int64_t getBRows() const;
  /// Returns the number of CTAs per tile.
  int64_t getCtas() const;

  MatmulOpInterface op;
  ScheduleAttr schedule;
  const target::TargetInfo &target;
  MatmulProblem problem;
  const Strategy &strategy;
  MatmulBuffers buffers;
};

/// Host operands and results in the form used by kernels, with the matrices of
/// expert groups stacked.
struct Matrices {
  explicit Matrices(MatmulOpInterface op);

  mlir::Value a, aScales, b, bScales, out;
  /// Null unless the result is quantized.
  mlir::Value outScales;
};

/// Classes of work tiles, by the type of dequantized operands. The type is f16
/// if the scales of all operand tiles fit f16. Otherwise it is bf16 relative to
/// reference exponents if the scales fit and no element is NaN, and plain bf16
/// in all other cases. Matmuls with expert groups are not searched for NaN, so
/// they use bf16 for all tiles that do not fit f16 (NotF16).
enum class WorkTileClass { F16, RelativeBF16, BF16, NotF16 };

struct MatmulKernel {
  MatmulKernel(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

  const ScheduledMatmul matmul;
  mlir::gpu::GPUModuleOp module;
  KernelBuilder host, body;
  Matrices matrices;
  KernelArguments arguments;
  /// Rank of this CTA in its pair, or null without pairs.
  mlir::Value rank;
  /// Host tables of scale ranges (mxgpu.load_scale_range), or null for a kernel
  /// that computes all tiles regardless of scales.
  mlir::Value aScaleRange, bScaleRange;
  /// With 'where', true if the work tile of a role contains no wide elements.
  mlir::Value isNarrow;
  /// Class of work tiles to compute, if there are tables.
  WorkTileClass workTiles = WorkTileClass::BF16;
};

/// Component of the builder, with short names for common members.
class KernelComponent {
public:
  KernelComponent(const KernelComponent &) = delete;
  virtual ~KernelComponent();

protected:
  explicit KernelComponent(MatmulKernel &kernel);

  MatmulKernel &kernel;
  const ScheduledMatmul &matmul;
  MatmulOpInterface op;
  ScheduleAttr schedule;
  KernelBuilder &host, &body;
  Matrices &matrices;
  const KernelArguments &arguments;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_MATMULKERNEL_H
