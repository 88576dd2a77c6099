//===- F16ScaleRange.cpp - Matmuls in f16 where scales allow it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. ScaleRangeKernel.cpp is the kernel that looks at scales, and
// NaNKernel.cpp the one that looks at elements.
//
//===----------------------------------------------------------------------===//

#include "F16ScaleRange.h"
#include "../../BuildMatmul.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Builds the kernel of the work tiles of a class.
static void buildSome(const ScheduledMatmul &matmul, gpu::GPUModuleOp module,
                      WorkTileClass workTiles, Value aScaleRange,
                      Value bScaleRange) {
  MatmulKernel kernel(matmul, module);
  kernel.workTiles = workTiles;
  kernel.aScaleRange = aScaleRange;
  kernel.bScaleRange = bScaleRange;
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  buildMatmul(kernel, policies);
}

/// A, and what groups make of it.
static ScaleRangeOperand getA(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  ScaleRangeOperand a;
  a.elements = kernel.matrices.a;
  a.scales = kernel.matrices.aScales;
  a.offsets = op.getExpertOffsets();
  a.dividesReduction = op.getRaggedOrNone() == RaggedKind::Reduction;
  if (op.isMasked())
    a.matrixRows = getSize(kernel.host, op.getA(), 1);
  return a;
}

/// B: groups of rows have a matrix each.
static ScaleRangeOperand getB(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  ScaleRangeOperand b;
  b.elements = kernel.matrices.b;
  b.scales = kernel.matrices.bScales;
  b.dividesReduction = op.getRaggedOrNone() == RaggedKind::Reduction;
  if (b.dividesReduction)
    b.offsets = op.getExpertOffsets();
  else if (op.getExpertOffsets())
    b.matrixRows = getSize(kernel.host, op.getB(), 1);
  return b;
}

void mx::mxgpu::buildByScaleRange(const ScheduledMatmul &matmul,
                                  gpu::GPUModuleOp module) {
  MatmulKernel kernel(matmul, module);
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  checkSizes(kernel, policies);
  KernelBuilder &host = kernel.host;
  Value a = findScaleRanges(host, module, getA(kernel));
  Value b = findScaleRanges(host, module, getB(kernel));
  SmallVector<Value> tables = {a, b};
  SmallVector<WorkTileClass> rest = {WorkTileClass::NotF16};
  if (MatmulOpInterface op = matmul.op; !op.getExpertOffsets()) {
    auto [aFinite, bFinite] =
        excludeNaN(host, module, kernel.matrices.a, kernel.matrices.b, a, b);
    tables.append({aFinite, bFinite});
    rest = {WorkTileClass::RelativeBF16, WorkTileClass::BF16};
    a = aFinite;
    b = bFinite;
  }
  buildSome(matmul, module, WorkTileClass::F16, a, b);
  ScheduleFields fields = matmul.schedule.getFields();
  auto own = cast<WgmmaUpcastBAttr>(fields.strategy);
  fields.strategy =
      WgmmaUpcastBAttr::get(own.getContext(), own.getOperandStages(),
                            /*f16_scale_range=*/false, own.getClusterSplit());
  ScheduledMatmul inBF16(
      matmul.op, ScheduleAttr::get(host.getContext(), fields), matmul.target);
  for (WorkTileClass workTiles : rest)
    buildSome(inBF16, module, workTiles, a, b);
  for (Value table : tables)
    memref::DeallocOp::create(host, table);
}
