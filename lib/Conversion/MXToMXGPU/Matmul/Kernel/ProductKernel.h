//===- ProductKernel.h - The kernel of a product, being built ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all parts of the builder have in common: the facts of the product, two
// places to write to, on the host and in the kernel, and names for what passes
// from one to the other. Decisions are not here: they are in WorkPolicy.h,
// MainLoop.h and EpiloguePolicy.h.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_PRODUCTKERNEL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_PRODUCTKERNEL_H

#include "KernelArguments.h"

namespace mx::mxgpu {

/// A product and how it is to be computed.
struct Product {
  Product(MatmulOpInterface op, ScheduleAttr schedule,
          const target::TargetInfo &target)
      : op(op), schedule(schedule), target(target),
        problem(*getMatmulProblem(op, target)),
        buffers(getBuffers(problem, schedule.getFields())) {}

  /// Columns of the result that a tile has: those of each part of B.
  int64_t getTileColumns() const { return schedule.getTileN() / problem.numB; }
  /// Rows of A, and of B, that one CTA holds of a tile.
  int64_t getARows() const { return schedule.getTileM() / schedule.getCtas(); }
  int64_t getBRows() const { return schedule.getTileN() / schedule.getCtas(); }

  MatmulOpInterface op;
  ScheduleAttr schedule;
  const target::TargetInfo &target;
  MatmulProblem problem;
  MatmulBuffers buffers;
};

/// Operands and results on the host as kernels see them: those of groups are
/// one matrix each, whose rows lie one below the other.
struct Matrices {
  explicit Matrices(MatmulOpInterface op)
      : a(op.getA()), aScales(op.getAScales()), b(op.getB()),
        bScales(op.getBScales()), out(op.getResultTensor()),
        outScales(op.getResultScales()) {}

  mlir::Value a, aScales, b, bScales, out;
  /// Null where the result has none.
  mlir::Value outScales;
};

/// Classes of work tiles by the type that their operands are dequantized to:
/// f16 where the scales of all tiles fit it; else bf16 relative to reference
/// exponents where the scales fit that and no element is NaN; else bf16. Groups
/// are not searched for NaN, so in their products bf16 takes all that does not
/// fit f16 (NotF16).
enum class UnitClass { F16, RelativeBF16, BF16, NotF16 };

struct ProductKernel {
  ProductKernel(const Product &product, mlir::gpu::GPUModuleOp module)
      : product(product), module(module),
        host(product.op->getLoc(), product.op), body(host),
        matrices(product.op) {}

  const Product product;
  mlir::gpu::GPUModuleOp module;
  KernelBuilder host, body;
  Matrices matrices;
  KernelArguments arguments;
  /// Number of this CTA in its pair; null where there are none.
  mlir::Value rank;
  /// Tables of where the scales of A and B lie (mxgpu.load_window), on the
  /// host; null for a kernel that computes all tiles, whatever their scales.
  mlir::Value aWindow, bWindow;
  /// The units that it computes if it has these.
  UnitClass units = UnitClass::BF16;
};

/// A part of the builder. It has short names for what is read most.
class KernelPart {
public:
  KernelPart(const KernelPart &) = delete;
  virtual ~KernelPart() = default;

protected:
  explicit KernelPart(ProductKernel &kernel)
      : kernel(kernel), product(kernel.product), op(product.op),
        schedule(product.schedule), host(kernel.host), body(kernel.body),
        matrices(kernel.matrices), arguments(kernel.arguments) {}

  ProductKernel &kernel;
  const Product &product;
  MatmulOpInterface op;
  ScheduleAttr schedule;
  KernelBuilder &host, &body;
  Matrices &matrices;
  const KernelArguments &arguments;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_PRODUCTKERNEL_H
