//===- AmaxKernel.cpp - Kernel of mx.amax ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work tiles are pieces of the flattened tensor. Threads issue all loads of a
// tile before the first use, and each warp updates the result once per tile.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kThreads = 256;
static constexpr int64_t kAmaxLoads = 8;

static void buildKernel(KernelOp kernel, int64_t vector, Location loc) {
  KernelBuilder body(loc, kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), result = entry.getArgument(1);
  Value work = body.scheduleTiles(body.index(1), body.dim(input, 1),
                                  {1, kThreads * kAmaxLoads * vector});
  body.role("amax", kThreads / 32, /*elected=*/false);
  Value first = body.mul(ThreadIdOp::create(body), body.index(vector));
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  Value column = body.add(tile.getColumn(), first);
  auto type = VectorType::get(
      vector, cast<MemRefType>(input.getType()).getElementType());
  Value known = LoadRelaxedOp::create(body, result);
  SmallVector<Value> pieces;
  for (int64_t i = 0; i < kAmaxLoads; ++i)
    pieces.push_back(
        LoadBlockOp::create(body, type, input, tile.getRow(),
                            body.add(column, i * kThreads * vector)));
  Value largest = ThreadAmaxOp::create(body, pieces, /*as_integers=*/false,
                                       /*column=*/IntegerAttr());
  AtomicMaxOp::create(body, largest, known, result);
}

LogicalResult mx::mxgpu::convertAmax(AmaxOp op, gpu::GPUModuleOp module) {
  auto type = cast<MemRefType>(op.getInput().getType());
  auto result = cast<MemRefType>(op.getOuts()[0].getType());
  if (!isContiguous(type))
    return op.emitOpError("expected an input without gaps on the GPU, found ")
           << type;
  if (!result.getLayout().isIdentity()) // the runtime clears the result
    return op.emitOpError("expected a result with identity layout on the GPU, "
                          "found ")
           << result;
  KernelBuilder host(op.getLoc(), op);
  Value row = toRow(host, op.getInput());
  int64_t vector = kLoadBytes * 8 / type.getElementTypeBitWidth();
  Value elements = host.dim(row, 1);
  requireMultiple(host, elements, vector, "the number of elements of input");
  clearMemory(host, op.getOuts()[0]);
  SmallVector<Value> arguments = {row, op.getOuts()[0]};
  KernelOp kernel =
      host.kernel(module, "amax", ValueRange(arguments).getTypes());
  buildKernel(kernel, vector, op.getLoc());
  host.launch(kernel, host.ceilDiv(elements, kThreads * kAmaxLoads * vector),
              arguments);
  op.erase();
  return success();
}
