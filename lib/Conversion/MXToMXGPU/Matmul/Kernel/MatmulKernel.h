//===- MatmulKernel.h - A matmul kernel under construction ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The common base of the builder's components: the facts of the matmul, two
// places to write to, on the host and in the kernel, and names for what passes
// from one to the other. Decisions are not here: they are in WorkPolicy.h,
// MainLoop.h and EpiloguePolicy.h. BuildMatmul.cpp puts them together.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_MATMULKERNEL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_MATMULKERNEL_H

#include "../../Builder/KernelBuilder.h"
#include "../Strategies/Strategy.h"

namespace mx::mxgpu {

/// What kernels of matmuls take. `getMatmulArguments` and the kernel that adds
/// the splits of a reduction say which of them a kernel has.
enum class Arg {
  AMap,         ///< Tensor maps of the operands and of their scales.
  BMap,         //
  AScalesMap,   //
  BScalesMap,   //
  Partials,     ///< Partial accumulators of a split reduction, to be added.
  Result,       ///< What is written.
  Offsets,      ///< Of groups: their ends.
  K,            ///< Elements of the reduction.
  Alpha,        ///< The factor of the accumulator.
  Captures,     ///< What the epilogue region reads from outside.
  ResultMap,    ///< The result's tensor map, for bulk stores.
  MatrixRows,   ///< Of masked groups: rows of each matrix.
  ScatterRows,  ///< The row of the result that each row is added to.
  AScaleRange,  ///< Tables of the scales of A's tiles, and of B's.
  BScaleRange,  //
  ResultScales, ///< Scales of a quantized result.
};

class KernelArguments {
public:
  /// The next argument, if there is one: nothing is added for null. A size that
  /// is an attribute is a constant in the kernel, and no argument.
  void add(Arg name, mlir::OpFoldResult value);
  /// Several under one name.
  void addAll(Arg name, mlir::ValueRange values);

  /// What the host passes to the launch.
  llvm::SmallVector<mlir::Value> getHostValues() const;

  /// From now on names stand for values in `kernel`; `body` writes constants.
  void enter(KernelOp kernel, KernelBuilder &body);
  /// The value in the kernel, or null if it has none.
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

/// The size of a dimension: an attribute where the type knows it.
mlir::OpFoldResult getSize(KernelBuilder &host, mlir::Value memref,
                           int64_t dim);

/// A matmul and how it is to be computed.
struct ScheduledMatmul {
  ScheduledMatmul(MatmulOpInterface op, ScheduleAttr schedule,
                  const target::TargetInfo &target);

  /// Columns of the result that a tile has: those of each matrix of B.
  int64_t getTileColumns() const;
  /// Rows of A, and of B, that one CTA holds of a tile.
  int64_t getARows() const;
  int64_t getBRows() const;
  /// CTAs that share a tile.
  int64_t getCtas() const;

  MatmulOpInterface op;
  ScheduleAttr schedule;
  const target::TargetInfo &target;
  MatmulProblem problem;
  const Strategy &strategy;
  MatmulBuffers buffers;
};

/// Operands and results on the host as kernels see them: those of groups are
/// one matrix each, whose rows lie one below the other.
struct Matrices {
  explicit Matrices(MatmulOpInterface op);

  mlir::Value a, aScales, b, bScales, out;
  /// Null where the result has none.
  mlir::Value outScales;
};

/// Classes of work tiles by the type that their operands are dequantized to:
/// f16 where the scales of all tiles fit it; else bf16 relative to reference
/// exponents where the scales fit that and no element is NaN; else bf16. Groups
/// are not searched for NaN, so in their matmuls bf16 takes all that does not
/// fit f16 (NotF16).
enum class WorkTileClass { F16, RelativeBF16, BF16, NotF16 };

struct MatmulKernel {
  MatmulKernel(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

  const ScheduledMatmul matmul;
  mlir::gpu::GPUModuleOp module;
  KernelBuilder host, body;
  Matrices matrices;
  KernelArguments arguments;
  /// Number of this CTA in its pair; null where there are none.
  mlir::Value rank;
  /// Tables of where the scales of A and B lie (mxgpu.load_scale_range), on the
  /// host; null for a kernel that computes all tiles, whatever their scales.
  mlir::Value aScaleRange, bScaleRange;
  /// The work tiles that it computes if it has these.
  WorkTileClass workTiles = WorkTileClass::BF16;
};

/// A component of the builder. It has short names for what is read most.
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
