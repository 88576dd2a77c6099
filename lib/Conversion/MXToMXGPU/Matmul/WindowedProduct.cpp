//===- WindowedProduct.cpp - Products in f16 where scales allow it --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. WindowKernel.cpp is the kernel that looks at scales.
//
//===----------------------------------------------------------------------===//

#include "WindowedProduct.h"
#include "HostChecks.h"
#include "MatmulKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Builds the kernel of the units whose scales lie within the window, or of
/// those whose do not.
static void buildSome(const Product &product, gpu::GPUModuleOp module,
                      Value aWindow, Value bWindow) {
  ProductKernel kernel(product, module);
  kernel.aWindow = aWindow;
  kernel.bWindow = bWindow;
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  buildProduct(kernel, policies);
}

void mx::mxgpu::buildWindowed(const Product &product, gpu::GPUModuleOp module) {
  ProductKernel kernel(product, module);
  checkSizes(kernel, Policies(kernel));
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  Value a = findWindows(host, module, matrices.a, matrices.aScales);
  Value b = findWindows(host, module, matrices.b, matrices.bScales);
  buildSome(product, module, a, b);
  ScheduleFields fields = product.schedule.getFields();
  fields.f16Window = false;
  auto rest = ScheduleAttr::get(host.getContext(), fields);
  buildSome(Product(product.op, rest, product.target), module, a, b);
  for (Value table : {a, b})
    memref::DeallocOp::create(host, table);
}
