//===- BuildMatmul.cpp - Construction of matmul kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BuildMatmul.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "Epilogue/FragmentEpilogue.h"
#include "Epilogue/QuantizedEpilogue.h"
#include "Work/GroupedWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

static std::unique_ptr<WorkPolicy> createWork(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  switch (op.getRaggedOrNone()) {
  case RaggedKind::None:
    if (kernel.matmul.schedule.getClusterSplits() > 1)
      return std::make_unique<ClusterWork>(kernel);
    if (kernel.matmul.schedule.getSplitK() > 1)
      return std::make_unique<SplitWork>(kernel);
    return std::make_unique<DenseWork>(kernel);
  case RaggedKind::Rows:
    if (op.isMasked())
      return std::make_unique<MaskedWork>(kernel);
    return std::make_unique<RowsWork>(kernel);
  case RaggedKind::Reduction:
    return std::make_unique<ReductionWork>(kernel);
  }
  llvm_unreachable("expert group kind without a work policy");
}

static std::unique_ptr<OperandB> createB(MatmulKernel &kernel,
                                         WorkPolicy &work) {
  if (kernel.matmul.problem.numB > 1)
    return std::make_unique<MatricesB>(kernel, work);
  return std::make_unique<WholeB>(kernel, work);
}

static std::unique_ptr<EpiloguePolicy> createEpilogue(MatmulKernel &kernel,
                                                      WorkPolicy &work) {
  const ScheduledMatmul &matmul = kernel.matmul;
  if (matmul.problem.isQuantized)
    return std::make_unique<QuantizedEpilogue>(kernel, work);
  if (matmul.problem.isScattered)
    return std::make_unique<ScatteredEpilogue>(kernel, work);
  if (matmul.buffers.staging)
    return std::make_unique<StagedEpilogue>(kernel, work);
  return std::make_unique<DirectEpilogue>(kernel, work);
}

Policies::Policies(MatmulKernel &kernel)
    : work(createWork(kernel)), b(createB(kernel, *work)),
      mainLoop(kernel.matmul.strategy.createMainLoop(kernel, *work, *b)),
      epilogue(createEpilogue(kernel, *work)) {}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

KernelArguments mx::mxgpu::getMatmulArguments(MatmulKernel &kernel,
                                              const Policies &policies) {
  MatmulOpInterface op = kernel.matmul.op;
  const Matrices &matrices = kernel.matrices;
  KernelArguments arguments;
  policies.mainLoop->addOperands(arguments);
  arguments.add(Arg::Result, matrices.out);
  arguments.add(Arg::Offsets, op.getExpertOffsets());
  arguments.add(Arg::K, getSize(kernel.host, matrices.a, 1));
  arguments.add(Arg::Alpha, op.getAlpha());
  arguments.addAll(Arg::Captures, policies.epilogue->getCaptures());
  arguments.add(Arg::ResultMap, policies.epilogue->encodeResult());
  arguments.add(Arg::MatrixRows, policies.work->getMatrixRows());
  arguments.add(Arg::ScatterRows, op.getScatterRows());
  arguments.add(Arg::AScaleRange, kernel.aScaleRange);
  arguments.add(Arg::BScaleRange, kernel.bScaleRange);
  arguments.add(Arg::ResultScales, matrices.outScales);
  if (op.getWhere()) {
    arguments.add(Arg::AClasses, op.getRowClasses()[0]);
    arguments.add(Arg::BClasses, op.getRowClasses()[1]);
  }
  // All parts of the columns share a kernel, so the range is not a constant.
  if (auto range = op.getColumnRange()) {
    KernelBuilder &host = kernel.host;
    arguments.add(Arg::Columns, host.index(range->second - range->first));
    arguments.add(Arg::FirstTile,
                  host.index(range->first / kernel.matmul.getTileColumns()));
  }
  return arguments;
}

KernelArguments mx::mxgpu::getSumArguments(MatmulKernel &kernel, Value partials,
                                           ElementRegion &region) {
  MatmulOpInterface op = kernel.matmul.op;
  KernelArguments arguments;
  arguments.add(Arg::Partials, partials);
  arguments.add(Arg::Result, kernel.matrices.out);
  arguments.add(Arg::K, getSize(kernel.host, kernel.matrices.a, 1));
  arguments.add(Arg::Alpha, op.getAlpha());
  arguments.addAll(Arg::Captures, region.getCaptures());
  return arguments;
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

static void enterKernel(MatmulKernel &kernel, KernelOp kernelOp) {
  kernel.body.setInsertionPointToStart(&kernelOp.getBody().front());
  kernel.arguments.enter(kernelOp, kernel.body);
  if (kernel.matmul.schedule.getStrategy().getCtas() > 1)
    kernel.rank = CtaRankOp::create(kernel.body);
}

/// Creates the tile scheduler. A kernel of wide elements finds no work tiles if
/// all rows are narrow.
static void createScheduler(MatmulKernel &kernel, const Policies &policies,
                            Value workTiles) {
  KernelBuilder &body = kernel.body;
  Value rows = policies.epilogue->getRows();
  Value columns = policies.epilogue->getColumns();
  if (kernel.matmul.problem.where == RowClass::Wide)
    columns = body.select(isAnySet(body, {kernel.arguments.get(Arg::AClasses),
                                          kernel.arguments.get(Arg::BClasses)}),
                          columns, body.index(0));
  policies.work->createScheduler(rows, columns, workTiles);
}

/// Creates the rings and the tile scheduler. Returns the ring of work tiles, or
/// null if work tiles are static.
static Value createFrame(MatmulKernel &kernel, const Policies &policies) {
  KernelBuilder &body = kernel.body;
  RingType byRing = kernel.matmul.buffers.workTiles;
  bool readsMemory = byRing || kernel.matmul.problem.where;
  if (!readsMemory)
    createScheduler(kernel, policies, Value());
  policies.mainLoop->createRings();
  policies.epilogue->begin();
  // Place work tiles last in memory, because other buffers need more alignment.
  Value workTiles = byRing ? body.ring(byRing, "work_tiles") : Value();
  // Earlier kernels may write the memory read from here on, including the group
  // offsets and row classes that determine the first work tile.
  if (kernel.matmul.schedule.getPdl())
    WaitDependenciesOp::create(body);
  if (readsMemory)
    createScheduler(kernel, policies, workTiles);
  return workTiles;
}

/// Creates the role for obtaining the next work tile. Either one thread queries
/// the hardware scheduler, or a warp searches the expert groups.
static void buildScheduleRole(MatmulKernel &kernel, const Policies &policies,
                              Value workTiles) {
  if (!workTiles)
    return;
  KernelBuilder &body = kernel.body;
  OpBuilder::InsertionGuard guard(body);
  bool isAsked =
      kernel.matmul.buffers.workTiles.getProducer() == AsyncKind::Clc;
  body.role("schedule", 1, /*elected=*/isAsked);
  body.forEachWorkTile(policies.work->getScheduler());
  Value stage = ProducerAcquireOp::create(body, workTiles).getStage();
  ProducerCommitOp::create(body, stage, Value());
}

/// Moves the work tiles of all roles to the computed columns.
static void moveWorkTiles(MatmulKernel &kernel, KernelOp kernelOp) {
  Value tile = kernel.arguments.get(Arg::FirstTile);
  if (!tile)
    return;
  kernelOp.walk([&](ForEachWorkTileOp loop) {
    KernelBuilder body(loop.getLoc(), loop);
    body.setInsertionPointToStart(&loop.getBody().front());
    Value first = body.mul(tile, kernel.matmul.getTileColumns());
    Value moved = body.add(first, loop.getColumn());
    loop.getColumn().replaceAllUsesExcept(moved, moved.getDefiningOp());
  });
}

static void launch(MatmulKernel &kernel, WorkPolicy &work, KernelOp kernelOp) {
  KernelBuilder &host = kernel.host;
  ScheduleAttr schedule = kernel.matmul.schedule;
  StrategyAttrInterface strategy = schedule.getStrategy();
  Value workTiles = work.getWorkTiles();
  requireAtMost(host, workTiles, kMaxWorkTiles, "work tiles");
  Value clusters = workTiles;
  int64_t ctas = strategy.getCtas() * schedule.getClusterSplits();
  // Limit the grid to resident CTAs. Clusters that split a reduction process a
  // single work tile, because all their threads synchronize, including threads
  // that would load the next work tile.
  if (strategy.getTileLoop() == TileLoop::Static &&
      schedule.getClusterSplits() == 1) {
    Value running = SmCountOp::create(host);
    if (int64_t ctas = strategy.getCtasPerSm(); ctas > 1)
      running = host.mul(running, host.index(ctas));
    running = host.div(running, ctas);
    if (ctas > 1) // a simulated chip may have a single SM
      running = arith::MaxUIOp::create(host, running, host.index(1));
    clusters = arith::MinUIOp::create(host, workTiles, running);
  }
  Value grid = host.mul(clusters, host.index(ctas));
  host.launch(kernelOp, grid, kernel.arguments.getHostValues());
}

/// Converts compact scales of operands to tiles and returns the tiles, which
/// the caller frees. Kernels with promotion read compact scales.
static SmallVector<Value> tileCompactScales(MatmulKernel &kernel) {
  KernelBuilder &host = kernel.host;
  MatmulOpInterface op = kernel.matmul.op;
  int64_t rank = cast<MemRefType>(op.getA().getType()).getRank();
  SmallVector<Value> tiles;
  if (op.getPromote())
    return tiles;
  auto tile = [&](Value scales, BlockShape block, Value rows, Value &matrix) {
    if (scales && !areTiles(scales, block))
      matrix = tiles.emplace_back(
          tileScales(host, kernel.module, scales, rows,
                     getBlockRows(getElementTypeOrSelf(scales), block)));
  };
  tile(op.getAScales(), op.getBlockSize(), host.dim(op.getA(), rank - 2),
       kernel.matrices.aScales);
  tile(op.getBScales(), op.getBlockSizeOfB(), getRowsOfB(kernel),
       kernel.matrices.bScales);
  return tiles;
}

void mx::mxgpu::buildMatmul(MatmulKernel &kernel, const Policies &policies) {
  ScheduleAttr schedule = kernel.matmul.schedule;
  SmallVector<Value> tiles = tileCompactScales(kernel);
  kernel.arguments = getMatmulArguments(kernel, policies);
  KernelOp kernelOp = kernel.host.kernel(
      kernel.module, policies.work->getKernelName(),
      ValueRange(kernel.arguments.getHostValues()).getTypes(), schedule);
  kernelOp.setCluster(schedule.getStrategy().getCtas());
  kernelOp.setClusterSplits(schedule.getClusterSplits());
  if (int64_t ctas = schedule.getStrategy().getCtasPerSm(); ctas > 1)
    kernelOp.setMinCtas(ctas);
  enterKernel(kernel, kernelOp);
  Value workTiles = createFrame(kernel, policies);
  policies.mainLoop->buildRoles(*policies.epilogue);
  buildScheduleRole(kernel, policies, workTiles);
  moveWorkTiles(kernel, kernelOp);
  launch(kernel, *policies.work, kernelOp);
  policies.mainLoop->freeTemporaries();
  for (Value scales : tiles)
    memref::DeallocOp::create(kernel.host, scales);
}

void Strategy::build(const ScheduledMatmul &matmul,
                     gpu::GPUModuleOp module) const {
  MatmulKernel kernel(matmul, module);
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  checkSizes(kernel, policies);
  buildMatmul(kernel, policies);
}

LogicalResult mx::mxgpu::convertMatmul(MatmulOpInterface op,
                                       gpu::GPUModuleOp module,
                                       const target::TargetInfo &target) {
  if (failed(verifyMatmulSupport(op, target)))
    return failure();
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  if (!schedule) {
    std::string why = explainNoSchedule(*getMatmulProblem(op, target), target);
    if (!why.empty())
      return op->emitOpError() << why;
    return op->emitOpError("expected a schedule: run mx-select-schedule first");
  }
  if (schedule.getWorkspace() != Workspace::None)
    return op->emitOpError("expected operands of workspace = ")
           << stringifyWorkspace(schedule.getWorkspace())
           << " to be dequantized by other operations: run "
              "mx-dequantize-operands first, before bufferization";
  MatmulProblem problem = *getMatmulProblem(op, target);
  ScheduleFields fields = schedule.getFields();
  resolveStrategy(problem, fields);
  // Kernels without selected elements take as long as their launch.
  fields.pdl |= problem.where.has_value();
  schedule = ScheduleAttr::get(op->getContext(), fields);
  if (failed(verifyScheduleSupport(op, schedule, target)))
    return failure();
  std::string why = explainDirectStores(problem);
  if (schedule.getEpilogue() == Epilogue::TmaStore && !why.empty()) {
    op->emitRemark("epilogue = direct instead of tma_store: ") << why;
    schedule = ScheduleAttr::get(op->getContext(), withDirectStores(fields));
  }
  ScheduledMatmul matmul(op, schedule, target);
  if (schedule.getSplitK() > schedule.getClusterSplits())
    buildSplit(matmul, module);
  else
    matmul.strategy.build(matmul, module);
  op->erase();
  return success();
}
