//===- QuantizeKernel.cpp - The kernel of mx.quantize ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit of work is one tile of scales: 128 rows by 4 blocks. A thread takes a
// row of it, so that it writes its four scales at once, slack included: rows
// and blocks outside the tensor are read as zeros, whose scale is 0.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kRows = kScaleTileRows, kBlocks = kScaleTileBlocks,
                         kBlock = 32;

static LogicalResult checkSupport(QuantizeOp op) {
  if (op.getSeed())
    return op.emitOpError("expected no seed on the GPU, where elements are "
                          "rounded to nearest even, found one");
  if (op.getGlobalScale() || op.getOffsets())
    return op.emitOpError("expected neither global_scale nor offsets on the "
                          "GPU, found ")
           << (op.getOffsets() ? "offsets" : "global_scale");
  if (op.getBlockSize() != kBlock)
    return op.emitOpError("expected blocks of 32 on the GPU, found ")
           << op.getBlockSize();
  auto input = cast<MemRefType>(op.getInput().getType());
  if (input.getRank() != 2 || !input.getLayout().isIdentity() ||
      !isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return op.emitOpError("expected a matrix of bf16, f16 or f32 with identity "
                          "layout on the GPU, found ")
           << input;
  for (unsigned i = 0; i < op.getAxes().size(); ++i) {
    auto elements = cast<MemRefType>(op.getElements(i).getType());
    if (!isa<Float8E4M3FNType>(elements.getElementType()) ||
        !elements.getLayout().isIdentity())
      return op.emitOpError("expected elements of f8E4M3FN with identity "
                            "layout on the GPU, found ")
             << elements;
    auto scales = cast<MemRefType>(op.getScales(i).getType());
    if (scales.getRank() != 5 || !scales.getLayout().isIdentity() ||
        !isa<Float8E8M0FNUType>(scales.getElementType()))
      return op.emitOpError("expected scales of f8E8M0FNU in layout tcgen05 on "
                            "the GPU, found ")
             << scales;
  }
  return success();
}

/// What the verifier could not see in dynamic shapes.
static void checkSizes(KernelBuilder &host, QuantizeOp op, unsigned index) {
  int64_t axis = op.getAxes()[index];
  Value rows = host.dim(op.getInput(), 1 - axis);
  Value columns = host.dim(op.getInput(), axis);
  Value elements = op.getElements(index), scales = op.getScales(index);
  host.requireMultiple(columns, kBlock,
                       "dimension " + Twine(axis) + " of the input");
  host.requireSize(host.dim(elements, 0), rows, "dimension 0 of the elements");
  host.requireSize(host.dim(elements, 1), columns,
                   "dimension 1 of the elements");
  Value rowTiles = host.ceilDiv(rows, kRows);
  host.requireSize(host.dim(scales, 0), rowTiles,
                   "tiles of rows of the scales");
  Value blockTiles = host.ceilDiv(columns, kBlocks * kBlock);
  host.requireSize(host.dim(scales, 1), blockTiles,
                   "tiles of blocks of the scales");
}

static void buildKernel(KernelOp kernel, ScaleRounding rounding, Location loc) {
  KernelBuilder body(loc, kernel.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  Value input = kernel.getBody().getArgument(0);
  Value elements = kernel.getBody().getArgument(1);
  Value scales = kernel.getBody().getArgument(2);
  Type inputType = cast<MemRefType>(input.getType()).getElementType();
  Type elementType = cast<MemRefType>(elements.getType()).getElementType();
  Type scaleType = cast<MemRefType>(scales.getType()).getElementType();
  Value rows = body.dim(input, 0), columns = body.dim(input, 1);
  Value work = body.create<WorkSourceOp>(
      rows, columns, /*reduction=*/body.index(0),
      ArrayRef<int64_t>{kRows, kBlocks * kBlock},
      RasterAttr::get(kernel.getContext(), RasterOrder::Linear, 1));

  body.role("quantize", kRows / 32, /*elected=*/false);
  Value thread = body.create<ThreadIdOp>();
  ForEachWorkOp unit = body.forEachWork(work);
  Value row = body.add(unit.getRow(), thread);
  SmallVector<Value> rowScales;
  for (int64_t i = 0; i < kBlocks; ++i) {
    Value column = body.add(unit.getColumn(), i * kBlock);
    Value block = body.create<LoadBlockOp>(VectorType::get(kBlock, inputType),
                                           input, row, column);
    auto quantized = body.create<QuantizeBlockOp>(
        TypeRange{VectorType::get(kBlock, elementType), scaleType}, block,
        rounding);
    body.create<StoreBlockOp>(quantized.getElements(), elements, row, column);
    rowScales.push_back(quantized.getScale());
  }
  body.create<StoreScalesOp>(rowScales, scales, row,
                             body.div(unit.getColumn(), kBlock));
}

LogicalResult mx::mxgpu::convertQuantize(QuantizeOp op,
                                         gpu::GPUModuleOp module) {
  if (failed(checkSupport(op)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  for (unsigned i = 0; i < op.getAxes().size(); ++i)
    checkSizes(host, op, i);
  if (op.getAxes() != ArrayRef<int64_t>{1})
    return buildQuantizeTileKernel(op, module);
  SmallVector<Value> arguments = {op.getInput(), op.getOuts()[0],
                                  op.getOuts()[1]};
  KernelOp kernel =
      host.kernel(module, "quantize", ValueRange(arguments).getTypes());
  buildKernel(kernel, op.getScaleRounding(), op.getLoc());
  Value rowTiles = host.ceilDiv(host.dim(op.getInput(), 0), kRows);
  Value blockTiles = host.ceilDiv(host.dim(op.getInput(), 1), kBlocks * kBlock);
  host.launch(kernel, host.mul(rowTiles, blockTiles), arguments);
  op.erase();
  return success();
}
