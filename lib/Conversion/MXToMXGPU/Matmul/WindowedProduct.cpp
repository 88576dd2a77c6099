//===- WindowedProduct.cpp - Products in f16 where scales allow it --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. WindowKernel.cpp is the kernel that looks at scales, and
// NaNKernel.cpp the one that looks at elements.
//
//===----------------------------------------------------------------------===//

#include "WindowedProduct.h"
#include "HostChecks.h"
#include "MatmulKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Builds the kernel of the units of a class.
static void buildSome(const Product &product, gpu::GPUModuleOp module,
                      UnitClass units, Value aWindow, Value bWindow) {
  ProductKernel kernel(product, module);
  kernel.units = units;
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
  auto [aFinite, bFinite] =
      excludeNaN(host, module, matrices.a, matrices.b, a, b);
  buildSome(product, module, UnitClass::F16, aFinite, bFinite);
  ScheduleFields fields = product.schedule.getFields();
  fields.f16Window = false;
  auto rest = ScheduleAttr::get(host.getContext(), fields);
  Product inBF16(product.op, rest, product.target);
  for (UnitClass units : {UnitClass::RelativeBF16, UnitClass::BF16})
    buildSome(inBF16, module, units, aFinite, bFinite);
  for (Value table : {a, b, aFinite, bFinite})
    memref::DeallocOp::create(host, table);
}
