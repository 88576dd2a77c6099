//===- MatmulKernel.cpp - The kernel of a product -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The table of contents: signature, kernel frame, roles, launch.
//
//===----------------------------------------------------------------------===//

#include "MatmulKernel.h"
#include "SplitReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static void enterKernel(ProductKernel &kernel, KernelOp kernelOp) {
  kernel.body.setInsertionPointToStart(&kernelOp.getBody().front());
  kernel.arguments.enter(kernelOp, kernel.body);
  if (kernel.product.schedule.getStrategy().getCtas() > 1)
    kernel.rank = CtaRankOp::create(kernel.body);
}

static void createScheduler(const Policies &policies, Value workTiles) {
  Value rows = policies.epilogue->getRows();
  Value columns = policies.epilogue->getColumns();
  policies.work->createScheduler(rows, columns, workTiles);
}

/// Makes the rings and the tile scheduler; gives the ring by which they come,
/// or null where they are static.
static Value createFrame(ProductKernel &kernel, const Policies &policies) {
  KernelBuilder &body = kernel.body;
  RingType byRing = kernel.product.buffers.workTiles;
  if (!byRing)
    createScheduler(policies, Value());
  policies.mainLoop->createRings();
  policies.epilogue->begin();
  // The last in memory, because the others are aligned more.
  Value workTiles = byRing ? body.ring(byRing, "work_tiles") : Value();
  // Kernels before this one may write what is read from here on: the ends of
  // groups by which the first work tile is found, too.
  if (kernel.product.schedule.getPdl())
    WaitDependenciesOp::create(body);
  if (byRing)
    createScheduler(policies, workTiles);
  return workTiles;
}

/// One thread asks the hardware for the work tile that comes after each, or a
/// warp finds it among the groups.
static void buildScheduleRole(ProductKernel &kernel, const Policies &policies,
                              Value workTiles) {
  if (!workTiles)
    return;
  KernelBuilder &body = kernel.body;
  OpBuilder::InsertionGuard guard(body);
  bool isAsked =
      kernel.product.buffers.workTiles.getProducer() == AsyncKind::Clc;
  RoleOp role = body.role("schedule", 1, /*elected=*/isAsked);
  // It is in the warpgroup of the loads.
  ArrayRef<int64_t> registers = kernel.product.schedule.getRegisters();
  if (!registers.empty())
    role.setRegisters(registers.back());
  body.forEachWorkTile(policies.work->getScheduler());
  Value stage = ProducerAcquireOp::create(body, workTiles).getStage();
  ProducerCommitOp::create(body, stage, Value());
}

static void launch(ProductKernel &kernel, WorkPolicy &work, KernelOp kernelOp) {
  KernelBuilder &host = kernel.host;
  ScheduleAttr schedule = kernel.product.schedule;
  StrategyAttrInterface strategy = schedule.getStrategy();
  Value workTiles = work.getWorkTiles();
  host.requireAtMost(workTiles, kMaxWorkTiles, "work tiles");
  Value clusters = workTiles;
  int64_t ctas = strategy.getCtas() * schedule.getParts();
  if (strategy.getTileLoop() == TileLoop::Static) { // as many as run at once
    Value running = SmCountOp::create(host);
    if (int64_t ctas = strategy.getCtasPerSm(); ctas > 1)
      running = host.mul(running, host.index(ctas));
    clusters = arith::MinUIOp::create(host, workTiles, host.div(running, ctas));
  }
  Value grid = host.mul(clusters, host.index(ctas));
  host.launch(kernelOp, grid, kernel.arguments.getHostValues());
}

void mx::mxgpu::buildProduct(ProductKernel &kernel, const Policies &policies) {
  ScheduleAttr schedule = kernel.product.schedule;
  kernel.arguments = getProductArguments(kernel, policies);
  KernelOp kernelOp = kernel.host.kernel(
      kernel.module, policies.work->getKernelName(),
      ValueRange(kernel.arguments.getHostValues()).getTypes(), schedule);
  kernelOp.setCluster(schedule.getStrategy().getCtas());
  kernelOp.setParts(schedule.getParts());
  if (int64_t ctas = schedule.getStrategy().getCtasPerSm(); ctas > 1)
    kernelOp.setMinCtas(ctas);
  enterKernel(kernel, kernelOp);
  Value workTiles = createFrame(kernel, policies);
  policies.mainLoop->buildRoles(*policies.epilogue);
  buildScheduleRole(kernel, policies, workTiles);
  launch(kernel, *policies.work, kernelOp);
  policies.mainLoop->freeTemporaries();
}

void Strategy::build(const Product &product, gpu::GPUModuleOp module) const {
  ProductKernel kernel(product, module);
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  checkSizes(kernel, policies);
  buildProduct(kernel, policies);
}

LogicalResult mx::mxgpu::convertMatmul(MatmulOpInterface op,
                                       gpu::GPUModuleOp module,
                                       const target::TargetInfo &target) {
  if (failed(verifyMatmulSupport(op, target)))
    return failure();
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    return op->emitOpError("expected a schedule: run mx-select-schedule first");
  if (schedule.getWorkspace() != Workspace::None)
    return op->emitOpError("expected operands of workspace = ")
           << stringifyWorkspace(schedule.getWorkspace())
           << " to be dequantized by other operations: run "
              "mx-dequantize-operands first, before bufferization";
  MatmulProblem problem = *getMatmulProblem(op, target);
  ScheduleFields fields = schedule.getFields();
  resolveStrategy(problem, fields);
  schedule = ScheduleAttr::get(op->getContext(), fields);
  if (failed(verifyScheduleSupport(op, schedule, target)))
    return failure();
  std::string why = explainDirectStores(problem);
  if (schedule.getEpilogue() == Epilogue::TmaStore && !why.empty()) {
    op->emitRemark("epilogue = direct instead of tma_store: ") << why;
    schedule = ScheduleAttr::get(op->getContext(), withDirectStores(fields));
  }
  Product product(op, schedule, target);
  if (schedule.getSplitK() > schedule.getParts())
    buildSplit(product, module);
  else
    product.strategy.build(product, module);
  op->erase();
  return success();
}
