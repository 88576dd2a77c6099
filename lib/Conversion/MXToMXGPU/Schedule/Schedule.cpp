//===- Schedule.cpp - Buffers and rules of schedules ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks rules for element types, shapes and the chip, and creates the rings of
// all strategies.
//===----------------------------------------------------------------------===//

#include "../Matmul/Strategies/Strategy.h"
#include "mx/Target/TensorMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Problem
//===----------------------------------------------------------------------===//

bool MatmulProblem::hasScales() const { return scales != nullptr; }
int64_t MatmulProblem::getOutBits() const {
  return out.getIntOrFloatBitWidth();
}
int64_t MatmulProblem::getScaleTileK() const {
  return kScaleTileBlocks * mma.blockSize / getScaleBytes();
}
bool MatmulProblem::promotesBlocks() const {
  return promote && aBlockSize != BlockFormat::kWhole &&
         bBlockSize != BlockFormat::kWhole && bBlockRows == 1;
}
bool MatmulProblem::promotesExactly() const {
  return promote && scales && scales.isF32();
}
int64_t MatmulProblem::getScaleBytes() const {
  return scales ? getStoredBits(scales) / 8 : 1;
}

bool mx::mxgpu::holdsA(Workspace workspace) {
  return workspace == Workspace::A || workspace == Workspace::AB;
}
bool mx::mxgpu::holdsB(Workspace workspace) {
  return workspace == Workspace::B || workspace == Workspace::AB;
}

/// Returns the type of the scales of either operand.
static Type getScaleType(MatmulOpInterface op) {
  Value scales = op.getBScales() ? op.getBScales() : op.getAScales();
  return getElementTypeOrSelf(scales.getType());
}

/// Returns the operand types for element types `a` and `b`, or none if no MMA
/// supports them.
static std::optional<OperandTypes> getOperandTypes(MatmulOpInterface op, Type a,
                                                   Type b) {
  auto aType = getMmaType(a), bType = getMmaType(b);
  if (!aType || !bType)
    return std::nullopt;
  OperandTypes types{
      *aType, *bType,
      static_cast<unsigned>(getKernelMultiple(op.getBlockSize())),
      getPowerOfTwoFormat().scale};
  if (!types.hasScalesOfA() && !types.hasScalesOfB())
    return types;
  Type scale = getScaleType(op);
  const BlockFormat *format = findBlockFormat(scale, op.getBlockSize());
  // A kernel converts 8-bit and 32-bit scales of other formats to tiles
  // (RelayoutKernel.cpp).
  int64_t bits = scale.getIntOrFloatBitWidth();
  if (!format ||
      (format->blockSize == BlockFormat::kWhole && !format->hasTiles) ||
      (!format->hasTiles && bits != 8 && bits != 32))
    return std::nullopt;
  types.scaleFormat = format->scale;
  // No strategy reads scales of folded operands per block of 32.
  if (format->isFolded)
    types.blockSize = std::max(types.blockSize, target::kFoldedTileK);
  return types;
}

/// Multiplies sizes (dynamic if either is). Saturates on overflow, because no
/// kernel supports such sizes and the model needs only an order of magnitude.
static int64_t multiplySizes(int64_t a, int64_t b) {
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b))
    return ShapedType::kDynamic;
  constexpr int64_t kMost = int64_t(1) << 40;
  return a && b > kMost / a ? kMost : a * b;
}

Type mx::mxgpu::getWorkspaceType(MatmulOpInterface op) {
  MLIRContext *context = op.getContext();
  return op.getPromote() ? Type(Float8E4M3FNType::get(context))
                         : BFloat16Type::get(context);
}

std::optional<MatmulProblem>
mx::mxgpu::getMatmulProblem(MatmulOpInterface op,
                            const target::TargetInfo &target,
                            Workspace workspace) {
  auto getLast = [](ShapedType type, int64_t fromEnd) {
    return type.getDimSize(type.getRank() - fromEnd);
  };
  auto aType = cast<ShapedType>(op.getA().getType());
  Type held = getWorkspaceType(op);
  Type aElement = holdsA(workspace) ? held : getElementTypeOrSelf(op.getA());
  Type bElement = holdsB(workspace) ? held : getElementTypeOrSelf(op.getB());
  SmallVector<int64_t> bShape = getLogicalShapeOfB(op);
  auto outType = cast<ShapedType>(op.getOut().getType());
  auto types = getOperandTypes(op, aElement, bElement);
  MatmulProblem problem;
  problem.a = aElement;
  problem.b = bElement;
  // The schedule chooses the order of operands in a workspace.
  if (!holdsA(workspace))
    problem.aOrder = getOrderOfA(op);
  if (!holdsB(workspace))
    problem.bOrder = getOrderOfB(op);
  problem.isPackedB = isa_and_present<Fragment64x64Attr>(problem.bOrder);
  problem.promote = static_cast<int64_t>(op.getPromote().value_or(0));
  problem.inOrder = op.getInOrder();
  if (!types || !matchStrategies(problem, *types, target))
    return std::nullopt;
  for (Value scales : {op.getAScales(), op.getBScales()})
    problem.isQuantizedHere |=
        scales && scales.getDefiningOp<FusedQuantizeOp>() != nullptr;
  if (types->hasScalesOfA() || types->hasScalesOfB())
    problem.scales = getScaleType(op);
  problem.out = outType.getElementType();
  problem.accumulate = op.getAccumulate();
  problem.aBlockSize = op.getBlockSize();
  BlockShape ofB = holdsB(workspace) && op.getPromote()
                       ? BlockShape(BlockFormat::kWhole)
                       : op.getBlockSizeOfB();
  problem.bBlockSize = ofB;
  if (problem.promote)
    problem.bBlockRows = getBlockRows(problem.scales, ofB);
  problem.hasEpilogue = op.getEpilogueBlock() != nullptr;
  // A size may be static in only one of the two types.
  auto either = [](int64_t x, int64_t y) {
    return ShapedType::isDynamic(x) ? y : x;
  };
  problem.numB = op.getNumB();
  problem.isQuantized = op.getResultScales() != nullptr;
  problem.isScattered = op.getScatterRows() != nullptr;
  problem.where = op.getWhere();
  if (auto range = op.getColumnRange()) {
    bool isToLast = range->second == getLast(outType, 1);
    problem.columnDivisor =
        std::gcd(range->first, isToLast ? 0 : range->second);
  }
  problem.m = op.getScatterRows()
                  ? getLast(aType, 2)
                  : either(getLast(outType, 2), getLast(aType, 2));
  problem.n = bShape[bShape.size() - 2];
  if (int64_t n = getLast(outType, 1); !ShapedType::isDynamic(n))
    problem.n = n * problem.numB;
  problem.k = either(getLast(aType, 1), bShape.back());
  problem.ragged = op.getRaggedOrNone();
  problem.isMasked = op.isMasked();
  if (Value offsets = op.getExpertOffsets())
    problem.groups = cast<ShapedType>(offsets.getType()).getDimSize(0);
  if (aType.getRank() == 2)
    return problem;
  // mx-group-batches turns each matrix into an expert group.
  problem.ragged = RaggedKind::Rows;
  problem.isMasked = true;
  int64_t matrices = 1;
  for (int64_t size : aType.getShape().drop_back(2))
    matrices = multiplySizes(matrices, size);
  problem.groups =
      op.getExpertOffsets() ? either(problem.groups, matrices) : matrices;
  problem.m = multiplySizes(problem.m, problem.groups);
  return problem;
}

ReductionSteps::ReductionSteps(const target::MmaForm &mma, int64_t extent) {
  products = mma.getK();
  // A tile reduces at least `wholeK` elements, even if fewer exist.
  int64_t shared = std::max<int64_t>(products, mma.instruction->wholeK);
  count = ceilDiv(extent, shared) * (shared / products);
}

std::string mx::mxgpu::explainDirectStores(const MatmulProblem &problem) {
  if (problem.isQuantized)
    return "blocks are quantized, and written, from registers";
  if (problem.where == RowClass::Wide)
    return "wide elements are stored one by one";
  if (problem.isScattered)
    return "each row is added to another row of the result";
  if (problem.accumulate && problem.hasEpilogue)
    return "the epilogue region needs the sum with the old result, which a "
           "bulk reduction adds too late";
  if (problem.accumulate && problem.getOutBits() < 32)
    return llvm::formatv("a bulk reduction to {0} bits would round the sum "
                         "before it is added",
                         problem.getOutBits());
  constexpr int64_t kStride = target::kTensorMapStrideUnit;
  if (ShapedType::isDynamic(problem.n))
    return {};
  int64_t bytes = ceilDiv(problem.n / problem.numB * problem.getOutBits(), 8);
  if (bytes % kStride)
    return llvm::formatv("expected the row length to be a multiple of {0} "
                         "bytes, found {1}; pad the result to {2} bytes per "
                         "row",
                         kStride, bytes, roundUp(bytes, kStride));
  return {};
}

ScheduleFields mx::mxgpu::withDirectStores(ScheduleFields fields) {
  fields.epilogue = Epilogue::Direct;
  fields.staging = ScheduleFields().staging;
  return fields;
}

bool mx::mxgpu::canStoreByTma(const MatmulProblem &problem) {
  return !ShapedType::isDynamic(problem.n) &&
         explainDirectStores(problem).empty();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::getSharedBytes(const ScheduleFields &fields,
                                  const target::TargetInfo &target) {
  return target.getSmemPerCta(fields.strategy.getCtasPerSm());
}

int64_t mx::mxgpu::getMaxStages(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                const target::TargetInfo &target) {
  ScheduleFields trial = fields;
  trial.stages = 1;
  ScheduleBudget one = getBudget(problem, trial, target);
  int64_t used = one.smem.getUsed();
  int64_t available = getSharedBytes(fields, target);
  if (used > available)
    return 0;
  // Buffers after the stages may require a larger alignment.
  trial.stages = std::min<int64_t>(
      kMaxStages,
      1 + llvm::divideCeil(available - used, one.rings.front().stride));
  while (getBudget(problem, trial, target).smem.getUsed() > available)
    --trial.stages;
  return trial.stages;
}

void mx::mxgpu::completeSchedule(const MatmulProblem &problem,
                                 ScheduleFields &fields,
                                 const target::TargetInfo &target) {
  resolveStrategy(problem, fields);
  const Strategy *strategy = lookupStrategy(problem, fields.strategy);
  if (strategy && fields.registers.empty())
    fields.registers = strategy->getRegisters(problem, fields);
  if (fields.stages)
    return;
  // Illegal schedules may have no rings; the verifier reports the reason.
  fields.stages = checkSchedule(problem, fields, target)
                      ? 1
                      : getMaxStages(problem, fields, target);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static ScheduleError overflow(const Memory &memory, int64_t limit,
                              StringRef what,
                              const target::TargetInfo &target) {
  ScheduleError error;
  error.message = llvm::formatv("expected at most {0} {1} on {2}, found {3}",
                                limit, what, target.chip, memory.getUsed());
  for (const MemoryItem &item : memory.getItems())
    error.table.push_back(
        llvm::formatv("{0}: {1}", item.describe(), item.getTotal()));
  return error;
}

/// Fails if a split of a static reduction would be empty. Splits of a dynamic
/// reduction may be empty.
static std::optional<ScheduleError> checkSplit(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  if (ShapedType::isDynamic(problem.k))
    return std::nullopt;
  int64_t tiles = std::max<int64_t>(ceilDiv(problem.k, fields.tile[2]), 1);
  if (fields.splitK <= tiles)
    return std::nullopt;
  return refuse(
      "expected split_k to be at most {0}, the number of reduction tiles, "
      "found {1}",
      tiles, fields.splitK);
}

/// Checks the rules for `in_order`: one sum per result, of steps of adjacent
/// products, of operands in bf16.
static std::optional<ScheduleError> checkOrder(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  if (!problem.inOrder)
    return std::nullopt;
  if (fields.splitK > 1)
    return refuse("expected no split_k with in_order, found {0}",
                  fields.splitK);
  if (Workspace permuted = getPermuted(fields); permuted != Workspace::None)
    return refuse("expected no permuted_{0} with in_order, found it: leave out "
                  "permuted_{0}",
                  stringifyWorkspace(permuted));
  // Its steps take 16 of 64 elements that are not adjacent.
  if (isa<WgmmaUpcastBAttr>(fields.strategy) && problem.hasScalesOfA())
    return refuse("expected workspace = ab with in_order, found {0} without",
                  fields.strategy);
  return std::nullopt;
}

/// Checks the rules for expert groups. Only the device can compute their work
/// tiles and the number of work tiles.
static std::optional<ScheduleError> checkExperts(const MatmulProblem &problem,
                                                 const ScheduleFields &fields) {
  if (problem.ragged == RaggedKind::None)
    return std::nullopt;
  if (fields.splitK > 1)
    return refuse("expected no split_k with expert groups, found {0}",
                  fields.splitK);
  if (TileLoop loop = fields.strategy.getTileLoop(); loop != TileLoop::Static)
    return refuse("expected tile_loop = static with expert groups, found {0}",
                  stringifyTileLoop(loop));
  return std::nullopt;
}

/// Checks the rules for several B matrices and for a quantized result, which
/// need whole scale tiles.
static std::optional<ScheduleError>
checkMatricesOfB(const MatmulProblem &problem, const ScheduleFields &fields) {
  if (problem.numB == 1 && !problem.isQuantized)
    return std::nullopt;
  if (problem.isQuantized && fields.l2Out != CacheHint::None)
    return ScheduleError{
        "expected l2 = [a, b] with a quantized result, whose blocks and scales "
        "are stored without a hint, found a hint for the result"};
  int64_t columns = fields.tile[1] / problem.numB;
  int64_t multiple = problem.isQuantized ? kQuantizedColumns : kScaleTileRows;
  if (columns % multiple)
    return refuse("expected a tile with a multiple of {0} columns for each of "
                  "{1} B matrices, found {2} columns",
                  multiple, problem.numB, fields.tile[1]);
  if (problem.numB % fields.strategy.getCtas() && problem.numB > 1)
    return refuse(
        "expected a CTA pair to share an even number of B matrices, found {0}",
        problem.numB);
  return std::nullopt;
}

/// Checks the rules for 'where', which skips work tiles and stores elements
/// from registers.
static std::optional<ScheduleError> checkWhere(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  if (!problem.where)
    return std::nullopt;
  auto upcast = dyn_cast<WgmmaUpcastBAttr>(fields.strategy);
  if (!isa<WgmmaFP8Attr, WgmmaUpcastAAttr, WgmmaUpcastBAttr>(fields.strategy) ||
      (upcast && upcast.getF16ScaleRange()))
    return refuse("expected #mxgpu.wgmma_fp8, #mxgpu.wgmma_upcast_a or "
                  "#mxgpu.wgmma_upcast_b without f16_scale_range with 'where', "
                  "found {0}",
                  fields.strategy);
  if (fields.splitK > 1)
    return refuse("expected no split_k with 'where', found {0}", fields.splitK);
  return std::nullopt;
}

/// Rejects tiles across the bounds of the computed columns.
static std::optional<ScheduleError> checkColumns(const MatmulProblem &problem,
                                                 const ScheduleFields &fields) {
  if (problem.columnDivisor % fields.tile[1] == 0)
    return std::nullopt;
  return refuse("expected tile columns that divide {0}, because 'columns' "
                "begins or ends at a multiple of {0}, found {1}",
                problem.columnDivisor, fields.tile[1]);
}

static std::optional<ScheduleError>
checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
               const target::TargetInfo &target) {
  if (fields.registers.empty())
    return std::nullopt;
  return getStrategy(problem, fields).checkRegisters(problem, fields, target);
}

static std::optional<ScheduleError>
checkStrategy(const MatmulProblem &problem, const ScheduleFields &fields,
              const target::TargetInfo &target) {
  if (lookupStrategy(problem, fields.strategy))
    return std::nullopt;
  auto names =
      llvm::map_range(problem.strategies, [](const Strategy *strategy) {
        return "#" + strategy->getName().str();
      });
  ScheduleError error;
  llvm::raw_string_ostream(error.message)
      << "expected strategy = " << llvm::join(names, " or ") << " to multiply "
      << problem.a << " by " << problem.b << " on " << target.chip << ", found "
      << fields.strategy;
  return error;
}

std::optional<ScheduleError>
mx::mxgpu::checkRules(const MatmulProblem &problem,
                      const ScheduleFields &fields,
                      const target::TargetInfo &target) {
  if (auto error = checkStrategy(problem, fields, target))
    return error;
  const Strategy &strategy = getStrategy(problem, fields);
  if (auto error = strategy.checkSchedule(problem, fields, target))
    return error;
  if (auto error = checkOrder(problem, fields))
    return error;
  if (auto error = checkExperts(problem, fields))
    return error;
  if (auto error = checkMatricesOfB(problem, fields))
    return error;
  if (auto error = checkWhere(problem, fields))
    return error;
  if (auto error = checkColumns(problem, fields))
    return error;
  if (auto error = checkSplit(problem, fields))
    return error;
  return checkRegisters(problem, fields, target);
}

std::optional<ScheduleError>
mx::mxgpu::checkSchedule(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target) {
  if (auto error = checkRules(problem, fields, target))
    return error;
  ScheduleFields chosen = fields;
  chosen.stages = std::max<int64_t>(fields.stages, 1);
  ScheduleBudget budget = getBudget(problem, chosen, target);
  if (budget.tmem.getUsed() > target.tmemColumns)
    return overflow(budget.tmem, target.tmemColumns, "columns of tensor memory",
                    target);
  if (int64_t available = getSharedBytes(fields, target);
      budget.smem.getUsed() > available)
    return overflow(budget.smem, available, "bytes of shared memory", target);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

RingType MatmulBuffers::getBInputs() const {
  return bInputs ? bInputs : inputs;
}

int64_t mx::mxgpu::getStagedColumns(int64_t tileN, int64_t bits) {
  return std::gcd(tileN, kStagedRowBytes * 8 / bits);
}

MatmulBuffers mx::mxgpu::getBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields) {
  MatmulBuffers buffers =
      getStrategy(problem, fields).getBuffers(problem, fields);
  if (fields.strategy.getClusterSplit())
    buffers.partialBytes = getPartialBytesOf(buffers.accumulatorLayout);
  return buffers;
}

/// Lists rings in the order of their creation in the kernel.
static SmallVector<RingRequest, 4> getRequests(const MatmulBuffers &buffers) {
  SmallVector<RingRequest, 4> requests = {{"in", buffers.inputs}};
  if (buffers.bInputs)
    requests.push_back({"in_b", buffers.bInputs});
  if (buffers.tileScales)
    requests.push_back({"tile_scales", buffers.tileScales});
  if (buffers.factors)
    requests.push_back({"factors", buffers.factors});
  if (buffers.operands)
    requests.push_back({"operands", buffers.operands});
  if (buffers.accumulators)
    requests.push_back({"acc", buffers.accumulators});
  if (buffers.staging)
    requests.push_back({"staging", buffers.staging, buffers.epilogueWarps});
  if (buffers.workTiles)
    requests.push_back({"work_tiles", buffers.workTiles});
  return requests;
}

static SmallVector<ScalesRequest, 2> getScales(const MatmulBuffers &buffers) {
  if (!buffers.aScales)
    return {};
  return {{"sfa", buffers.aScales, buffers.scaleStages},
          {"sfb", buffers.bScales, buffers.scaleStages}};
}

ScheduleBudget::ScheduleBudget(const MatmulBuffers &buffers,
                               const target::TargetInfo &target)
    : MemoryLayout(getRequests(buffers), getScales(buffers),
                   buffers.partialBytes),
      buffers(buffers) {
  tmemAllocated = target::tmemAllocationColumns(
      target, static_cast<unsigned>(tmem.getUsed()));
  // An additional role requests work tiles.
  int64_t warps =
      buffers.epilogueWarps + buffers.otherWarps + (buffers.workTiles ? 1 : 0);
  threads = warps * target::kWarpSize;
}

ScheduleBudget mx::mxgpu::getBudget(const MatmulProblem &problem,
                                    const ScheduleFields &fields,
                                    const target::TargetInfo &target) {
  return ScheduleBudget(getBuffers(problem, fields), target);
}
