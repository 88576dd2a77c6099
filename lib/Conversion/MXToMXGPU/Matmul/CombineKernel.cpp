//===- CombineKernel.cpp - Kernel of mx.combine in any order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each warp adds 1024 columns of a row to the listed row. Each lane adds four
// columns at a time and loads all its columns before the first addition. See
// CombineInOrder.cpp for fixed order.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"
#include "Combine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kRows = 8; // rows of a CTA; one warp per row

namespace {
class CombineBuilder {
public:
  CombineBuilder(CombineOp op, gpu::GPUModuleOp module)
      : op(op), module(module), host(op.getLoc(), op), body(op.getLoc(), op) {}

  void build() {
    Value count = host.dim(op.getInput(), 0);
    Value columns = host.dim(op.getInput(), 1);
    SmallVector<Value> arguments = {op.getInput(), op.getRows(),
                                    op.getOuts()[0]};
    if (op.getOffsets())
      arguments.push_back(op.getOffsets());
    Value workTiles = host.mul(host.ceilDiv(count, kRows),
                               host.ceilDiv(columns, kCombineColumns));
    requireAtMost(host, workTiles, kMaxWorkTiles, "work tiles");
    KernelOp kernel =
        host.kernel(module, "combine", ValueRange(arguments).getTypes());
    buildKernel(kernel);
    host.launch(kernel, workTiles, arguments);
  }

private:
  void buildKernel(KernelOp kernel) {
    Block &entry = kernel.getBody().front();
    body.setInsertionPointToStart(&entry);
    Value input = entry.getArgument(0), out = entry.getArgument(2);
    Value work = body.scheduleTiles(body.dim(input, 0), body.dim(input, 1),
                                    {kRows, kCombineColumns});
    body.role("combine", kRows, /*elected=*/false);
    ForEachWorkTileOp workTile = body.forEachWorkTile(work);
    Value thread = ThreadIdOp::create(body);
    Value row = body.add(workTile.getRow(), body.div(thread, 32));
    Value end = getListEnd(body, body.dim(input, 0),
                           op.getOffsets() ? entry.getArgument(3) : Value());
    auto isBelow = [&](Value a, Value b) -> Value {
      return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, a, b);
    };
    auto exists = scf::IfOp::create(body, isBelow(row, end), false);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(exists.thenBlock());
    Value to = loadIndex(body, entry.getArgument(1), row);
    // Unsigned comparison also rejects negative rows.
    auto isNamed =
        scf::IfOp::create(body, isBelow(to, body.dim(out, 0)), false);
    body.setInsertionPointToStart(isNamed.thenBlock());
    Value lane = arith::RemUIOp::create(body, thread, body.index(32));
    Value first = body.add(workTile.getColumn(),
                           body.mul(lane, body.index(kCombineVector)));
    addRow(input, row, out, to, first);
  }

  void addRow(Value input, Value row, Value out, Value to, Value first) {
    Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
    Value last = arith::SubIOp::create(body, body.dim(out, 1), body.index(1));
    SmallVector<Value> values;
    for (int64_t i = 0; i < kCombineLoads; ++i)
      values.push_back(loadColumns(body, input, row,
                                   {body.add(first, i * 32 * kCombineVector),
                                    kCombineVector,
                                    last,
                                    {}}));
    auto type = VectorType::get({kCombineVector}, body.getF32Type());
    for (auto [i, value] : llvm::enumerate(values)) {
      if (value.getType() != type)
        value = arith::ExtFOp::create(body, type, value);
      StoreFragmentOp::create(body, value, out, to,
                              body.add(first, int64_t(i) * 32 * kCombineVector),
                              yes,
                              /*alignment=*/IntegerAttr(), /*add=*/true);
    }
  }

  CombineOp op;
  gpu::GPUModuleOp module;
  KernelBuilder host, body;
};
} // namespace

Value mx::mxgpu::getListEnd(KernelBuilder &body, Value rows, Value offsets) {
  if (!offsets)
    return rows;
  Value end = loadIndex(body, offsets, body.sub(body.dim(offsets, 0), 1));
  // Clamp an end that exceeds the tensor.
  end = arith::MaxSIOp::create(body, end, body.index(0));
  return arith::MinSIOp::create(body, end, rows);
}

static void requireCombineSizes(CombineOp op) {
  KernelBuilder host(op.getLoc(), op);
  requireExperts(host, op.getOffsets());
  requireSize(host, host.dim(op.getRows(), 0), host.dim(op.getInput(), 0),
              "dimension 0 of rows");
  requireSize(host, host.dim(op.getOuts()[0], 1), host.dim(op.getInput(), 1),
              "dimension 1 of outs");
}

LogicalResult mx::mxgpu::convertCombine(CombineOp op, gpu::GPUModuleOp module,
                                        CombineLists &lists) {
  bool isFixed = op.getOrder() == AdditionOrder::Fixed;
  for (Value operand : op->getOperands()) {
    auto type = cast<MemRefType>(operand.getType());
    if (!isContiguous(type) && !(isFixed && type.areTrailingDimsContiguous(1)))
      return op.emitOpError("expected ")
             << (isFixed ? "contiguous rows" : "identity layout")
             << " on the GPU, found " << type;
  }
  requireCombineSizes(op);
  if (isFixed)
    buildCombineInOrder(op, module, lists);
  else
    CombineBuilder(op, module).build();
  op.erase();
  return success();
}
