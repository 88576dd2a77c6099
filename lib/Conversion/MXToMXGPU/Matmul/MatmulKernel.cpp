//===- MatmulKernel.cpp - The kernel of mx.matmul -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The frame: rings, work source and launch. See MatmulBuilder.h.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MatmulBuilder::appendReduction(SmallVectorImpl<Value> &arguments) {
  if (cast<MemRefType>(getA().getType()).isDynamicDim(1))
    arguments.push_back(host.dim(getA(), 1));
}

Value MatmulBuilder::getReduction(unsigned index) {
  auto type = cast<MemRefType>(getA().getType());
  if (type.isDynamicDim(1))
    return kernel.getBody().getArgument(index);
  return body.index(type.getDimSize(1));
}

/// What the epilogue needs from outside.
void MatmulBuilder::appendCaptures(SmallVectorImpl<Value> &arguments) {
  firstCapture = arguments.size();
  if (op.getAlpha())
    arguments.push_back(op.getAlpha());
  llvm::append_range(arguments, region.getCaptures());
}

/// Finds it among the kernel's arguments.
void MatmulBuilder::mapCaptures() {
  auto captured = kernel.getBody().getArguments().drop_front(firstCapture);
  if (op.getAlpha()) {
    alpha = captured.front();
    captured = captured.drop_front();
  }
  for (auto [value, inKernel] : llvm::zip(region.getCaptures(), captured))
    region.capture(value, inKernel);
}

void MatmulBuilder::buildProduct() {
  SmallVector<Value> arguments = {
      encodeOperand(getA(), *product.a, "a", getARows()),
      encodeOperand(getB(), *product.b, "b", getBBoxRows()),
      encodeScales(getAScales(), getAScaleBox()),
      encodeScales(getBScales(), getBScaleBox()), getOut()};
  if (isGrouped())
    arguments.push_back(op.getGroupOffsets());
  appendReduction(arguments);
  appendCaptures(arguments);
  if (isStaged())
    arguments.push_back(encodeResult());
  Value rows = hasUnknownMatrixRows() ? host.dim(op.getA(), 1) : Value();
  for (Value extra : {rows, op.getScatterRows(), getOutScales()})
    if (extra)
      arguments.push_back(extra);
  buildKernel(ValueRange(arguments).getTypes());

  Value units = getUnits();
  host.requireAtMost(units, kMaxUnits, "units of work");
  Value clusters = units;
  if (schedule.getTileLoop() == TileLoop::Static) { // as many as run at once
    Value sms = SmCountOp::create(host);
    clusters =
        arith::MinUIOp::create(host, units, host.div(sms, schedule.getCtas()));
  }
  Value grid = host.mul(clusters, host.index(schedule.getCtas()));
  host.launch(kernel, grid, arguments);
  freeTemporaries();
}

void MatmulBuilder::buildKernel(TypeRange arguments) {
  kernel = host.kernel(module, isGrouped() ? "grouped_matmul" : "matmul",
                       arguments, schedule);
  kernel.setCluster(schedule.getCtas());
  body.setInsertionPointToStart(&kernel.getBody().front());
  result = kernel.getBody().getArgument(4);
  if (isGrouped())
    offsets = kernel.getBody().getArgument(5);
  reduction = getReduction(isGrouped() ? 6 : 5);
  if (schedule.getCtaPair())
    rank = CtaRankOp::create(body);
  mapCaptures();
  auto rest = kernel.getBody().getArguments();
  auto takeLast = [&](bool isThere) -> Value {
    if (!isThere)
      return {};
    Value last = rest.back();
    rest = rest.drop_back();
    return last;
  };
  resultScales = takeLast(isQuantized());
  scatter = takeLast(op.getScatterRows() != nullptr);
  matrixRows = takeLast(hasUnknownMatrixRows());
  if (op.isMasked() && !matrixRows)
    matrixRows =
        body.index(cast<MemRefType>(op.getA().getType()).getDimSize(1));
  resultMap = takeLast(isStaged());
  auto createRing = [&](RingType type, StringRef name) -> Value {
    return RingOp::create(body, type, name, DenseI64ArrayAttr(), IntegerAttr(),
                          IntegerAttr());
  };
  bool byRing = buffers.units != RingType();
  if (!byRing)
    createWork(Value());
  inputs = createRing(buffers.inputs, "in");
  accumulators = createRing(buffers.accumulators, "acc");
  if (isStaged())
    staging = createRing(buffers.staging, "staging");
  Value units;
  if (byRing) // behind what is aligned more
    units = createRing(buffers.units, "units");
  // Kernels before this one may write what is read from here on: the ends of
  // groups by which the first unit is found, too.
  if (schedule.getPdl())
    WaitDependenciesOp::create(body);
  if (byRing)
    createWork(units);
  buildEpilogue();
  buildLoad();
  buildMma();
  if (byRing)
    buildSchedule(units);
  divideRegisters();
}

/// The units of the problem, by a ring unless they are static.
void MatmulBuilder::createWork(Value units) {
  SmallVector<int64_t> tile = {schedule.getTileM(), getTileColumns()};
  Value rows = body.dim(scatter ? scatter : result, 0);
  Value columns = getColumns(body, result);
  if (ragged == RaggedKind::Reduction)
    rows = groupRows = arith::DivUIOp::create(body, rows, body.dim(offsets, 0));
  if (isGrouped()) {
    work = TileSchedulerOp::create(body, rows, columns, reduction, tile,
                                   schedule.getRaster(), units, offsets,
                                   matrixRows, ragged == RaggedKind::Reduction);
    return;
  }
  if (schedule.getSplitK() > 1)
    rows = body.div(rows, schedule.getSplitK());
  work = TileSchedulerOp::create(body, rows, columns, reduction, tile,
                                 schedule.getRaster(), units,
                                 schedule.getSplitK(), schedule.getTileK());
}

/// The warpgroup of the epilogue holds accumulators in its registers, the other
/// needs few.
void MatmulBuilder::divideRegisters() {
  if (schedule.getRegisters().empty())
    return;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    role.setRegisters(
        schedule.getRegisters()[role.getWarps() == kEpilogueWarps ? 0 : 1]);
}

/// Two elements of 4 bits are a byte of the result.
Value MatmulBuilder::getColumns(KernelBuilder &builder, Value result) {
  Value columns = builder.dim(result, 1);
  auto type = cast<MemRefType>(op.getResultTensor().getType());
  if (!isa<Float4E2M1FNType>(type.getElementType()))
    return columns;
  return builder.mul(columns, builder.index(2));
}

Value MatmulBuilder::getFirstRow(ForEachWorkTileOp unit) {
  if (!rank)
    return unit.getRow();
  return body.add(unit.getRow(), body.mul(rank, body.index(getARows())));
}

bool MatmulBuilder::hasUnknownMatrixRows() {
  return op.isMasked() && cast<MemRefType>(op.getA().getType()).isDynamicDim(1);
}

Value MatmulBuilder::getMatrixRow(ForEachWorkTileOp unit) {
  return body.mul(unit.getGroup(), matrixRows);
}

Value MatmulBuilder::getRowTile(ForEachWorkTileOp unit) {
  Value row = getFirstRow(unit);
  if (!matrixRows)
    return body.add(body.div(row, kScaleTileRows), unit.getGroup());
  Value inMatrix = arith::SubIOp::create(body, row, getMatrixRow(unit));
  return body.add(
      body.div(inMatrix, kScaleTileRows),
      body.mul(unit.getGroup(), body.ceilDiv(matrixRows, kScaleTileRows)));
}

/// One thread asks for the unit that comes after each, or a warp finds it.
void MatmulBuilder::buildSchedule(Value units) {
  OpBuilder::InsertionGuard guard(body);
  body.role("schedule", 1, /*elected=*/!isGrouped());
  body.forEachWorkTile(work);
  Value stage = ProducerAcquireOp::create(body, units).getStage();
  ProducerCommitOp::create(body, stage, Value());
}

Value MatmulBuilder::getResultRow(ForEachWorkTileOp unit) {
  if (ragged == RaggedKind::Reduction)
    return body.add(getFirstRow(unit), body.mul(unit.getGroup(), groupRows));
  if (schedule.getSplitK() == 1)
    return getFirstRow(unit);
  auto source = work.getDefiningOp<TileSchedulerOp>();
  return body.add(getFirstRow(unit),
                  body.mul(unit.getGroup(), source.getRows()));
}

/// Groups of rows have all of it: their units say which rows they have instead.
std::pair<Value, Value> MatmulBuilder::getReductionOf(ForEachWorkTileOp unit) {
  if (ragged == RaggedKind::Rows)
    return {body.index(0), reduction};
  return {unit.getStart(), unit.getEnd()};
}

Value MatmulBuilder::isEmpty(ForEachWorkTileOp unit) {
  auto [start, end] = getReductionOf(unit);
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq, start, end);
}

LogicalResult mx::mxgpu::convertMatmul(MatmulOpInterface op,
                                       gpu::GPUModuleOp module,
                                       const target::TargetInfo &target) {
  if (failed(verifyMatmulSupport(op)))
    return failure();
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    return op->emitOpError("expected a schedule: run mx-select-schedule first");
  if (failed(verifyScheduleSupport(op, schedule, target)))
    return failure();
  std::string why = explainDirectStores(*getMatmulProblem(op));
  if (schedule.getEpilogue() == Epilogue::TmaStore && !why.empty()) {
    op->emitRemark("epilogue = direct instead of tma_store: ") << why;
    schedule = ScheduleAttr::get(op->getContext(),
                                 withDirectStores(schedule.getFields()));
  }
  MatmulBuilder(op, module, schedule, target).build();
  op->erase();
  return success();
}
