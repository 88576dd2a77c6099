//===- SplitReduction.cpp - A reduction in parts, and their sum -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. SumKernel.cpp is the kernel that adds.
//
//===----------------------------------------------------------------------===//

#include "SplitReduction.h"
#include "HostChecks.h"
#include "MatmulKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Memory for the parts of a result, one below the other.
static Value allocateParts(KernelBuilder &host, Value out,
                           ScheduleAttr schedule) {
  auto type = cast<MemRefType>(out.getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (auto [dim, tile, parts] :
       {std::tuple(0, schedule.getTileM(), schedule.getSplitK()),
        std::tuple(1, schedule.getTileN(), int64_t(1))}) {
    if (!type.isDynamicDim(dim)) {
      shape.push_back(llvm::alignTo(type.getDimSize(dim), tile) * parts);
      continue;
    }
    shape.push_back(ShapedType::kDynamic);
    sizes.push_back(host.mul(host.ceilDiv(host.dim(out, dim), tile),
                             host.index(tile * parts)));
  }
  return memref::AllocOp::create(
      host, MemRefType::get(shape, host.getF32Type()), sizes);
}

/// The product of the operands alone.
static void buildPartsProduct(const Product &product, gpu::GPUModuleOp module,
                              KernelBuilder &host, Value parts) {
  MatmulOpInterface op = product.op;
  auto plain = MatmulOp::create(
      host, TypeRange(), op.getA(), op.getAScales(), op.getB(), op.getBScales(),
      /*alpha=*/Value(), parts, op.getBlockSize(), /*accumulate=*/false,
      /*epilogueCount=*/0u);
  {
    ProductKernel kernel(Product(plain, product.schedule, product.target),
                         module);
    buildProduct(kernel, Policies(kernel));
  }
  plain.erase();
}

void mx::mxgpu::buildSplit(const Product &product, gpu::GPUModuleOp module) {
  ProductKernel kernel(product, module);
  checkSizes(kernel, Policies(kernel));
  KernelBuilder &host = kernel.host;
  Value parts = allocateParts(host, kernel.matrices.out, product.schedule);
  buildPartsProduct(product, module, host, parts);
  buildSum(product, module, parts);
  memref::DeallocOp::create(host, parts);
}
