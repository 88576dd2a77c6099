//===- DequantizeKernel.cpp - Kernels of mx.dequantize --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As in QuantizeKernel.cpp, threads load all their pieces before they use the
// first piece. Shared memory is not used. mx.pack_operand in #mxgpu.k_order
// uses the same kernel, but lanes exchange elements before the store. Two
// successive mx.dequantize operations, e.g. for the operands of a matmul, share
// a kernel. The tiles of the second operation are processed last.
//===----------------------------------------------------------------------===//

#include "DequantizedTensor.h"
#include "QuantizeChecks.h"
#include "QuantizeSchedule.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Builds a kernel for a tensor, or for two tensors with the same number of
/// column tiles.
static void buildBody(KernelBuilder &body, QuantizeScheduleAttr schedule,
                      MutableArrayRef<DequantizedTensor> tensors) {
  DequantizedTensor &first = tensors.front();
  bool isPair = tensors.size() > 1;
  Value firstRows = first.getWorkRows();
  Value workRows =
      isPair ? body.add(firstRows, tensors[1].getWorkRows()) : firstRows;
  Value work = first.createScheduler(workRows);
  body.role("dequantize", schedule.getThreads() / target::kWarpSize,
            /*elected=*/false);
  auto threads = TileThreads::get(body, schedule.getThreads(),
                                  schedule.getTile()[1], schedule.getVector());
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  Value row = first.getWorkRow(tile);
  if (!isPair)
    return first.buildTile(threads, tile, row);
  Value isOfFirst =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row, firstRows);
  auto ifOp = scf::IfOp::create(body, isOfFirst, /*withElseRegion=*/true);
  body.setInsertionPointToStart(ifOp.thenBlock());
  first.buildTile(threads, tile, row);
  body.setInsertionPointToStart(ifOp.elseBlock());
  tensors[1].buildTile(threads, tile,
                       arith::SubIOp::create(body, row, firstRows));
}

static void buildKernel(ArrayRef<DequantizeOperands> all,
                        QuantizeScheduleAttr schedule,
                        gpu::GPUModuleOp module) {
  const DequantizeOperands &last = all.back();
  KernelBuilder host(last.op->getLoc(), last.op);
  KernelBuilder body(last.op->getLoc(), host.getContext());
  SmallVector<DequantizedTensor, 2> tensors;
  SmallVector<Value> arguments;
  Value rowTiles;
  for (const DequantizeOperands &operands : all) {
    DequantizedTensor &tensor =
        tensors.emplace_back(operands, schedule, host, body);
    tensor.checkSizes();
    tensor.addArguments(arguments);
    Value tiles = tensor.getRowTiles();
    rowTiles = rowTiles ? host.add(rowTiles, tiles) : tiles;
  }
  KernelOp kernel =
      host.kernel(module, last.permuted ? "permute_reduction" : "dequantize",
                  ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  // The kernel may start before earlier kernels end.
  WaitDependenciesOp::create(body);
  Block::args_iterator next = entry.args_begin();
  for (DequantizedTensor &tensor : tensors)
    tensor.takeArguments(next);
  buildBody(body, schedule, tensors);
  host.launch(kernel, host.mul(rowTiles, tensors.front().getColumnTiles()),
              arguments);
  for (const DequantizeOperands &operands : all)
    operands.op->erase();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <typename OpT>
static DequantizeOperands getOperands(OpT op, Value globalScale,
                                      int64_t permuted) {
  return {op,
          op.getInput(),
          op.getScales(),
          globalScale,
          op.getOffsets(),
          op.getOuts()[0],
          op.getRaggedOrNone(),
          op.getBlockSize(),
          permuted};
}

std::optional<DequantizeOperands> DequantizeOperands::get(Operation *op) {
  if (auto dequantize = dyn_cast<DequantizeOp>(op))
    return getOperands(dequantize, dequantize.getGlobalScale(), 0);
  if (auto pack = dyn_cast<PackOperandOp>(op))
    if (auto order = dyn_cast<KOrderAttr>(pack.getOutOrder()))
      return getOperands(pack, /*globalScale=*/Value(), order.getBlock());
  return std::nullopt;
}

static QuantizeScheduleAttr getSchedule(const DequantizeOperands &operands) {
  auto schedule = operands.op->getAttrOfType<QuantizeScheduleAttr>(
      kQuantizeScheduleAttrName);
  return schedule ? schedule : selectDequantizeSchedule(operands);
}

/// Returns the next dequantize operation if that operation can share the kernel
/// of `first`. The number of column tiles must be equal, and the second
/// operation must not depend on operations in between.
static std::optional<DequantizeOperands>
findSecond(const DequantizeOperands &first) {
  Operation *next = first.op->getNextNode();
  while (isa_and_present<memref::AllocOp>(next) ||
         (next && !isa<DequantizeOp>(next) && isMemoryEffectFree(next)))
    next = next->getNextNode();
  if (!isa_and_present<DequantizeOp>(next))
    return std::nullopt;
  DequantizeOperands second = *DequantizeOperands::get(next);
  if (first.permuted || first.ragged == RaggedKind::Rows ||
      first.ragged != second.ragged || first.offsets != second.offsets ||
      getSchedule(first) != getSchedule(second))
    return std::nullopt;
  auto getColumns = [](Value out) {
    return cast<MemRefType>(out.getType()).getShape().back();
  };
  int64_t columns = getColumns(first.out);
  if (ShapedType::isDynamic(columns) || columns != getColumns(second.out) ||
      !first.out.getDefiningOp<memref::AllocOp>() ||
      llvm::is_contained(next->getOperands(), first.out))
    return std::nullopt;
  return second;
}

LogicalResult
mx::mxgpu::convertDequantize(DequantizeOperands operands,
                             gpu::GPUModuleOp module,
                             llvm::SmallPtrSetImpl<Operation *> &done) {
  QuantizeScheduleAttr schedule = getSchedule(operands);
  if (failed(verifyDequantizeSupport(operands, schedule)))
    return failure();
  SmallVector<DequantizeOperands, 2> all = {operands};
  if (std::optional<DequantizeOperands> second = findSecond(operands)) {
    if (failed(verifyDequantizeSupport(*second, schedule)))
      return failure();
    done.insert(second->op);
    all.push_back(*second);
  }
  buildKernel(all, schedule, module);
  return success();
}
