//===- MatmulChecks.cpp - Verification of matmul kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types are checked before a kernel is built. Dynamic sizes are checked by host
// code before the launch.
//===----------------------------------------------------------------------===//

#include "../Builder/HostChecks.h"
#include "BuildMatmul.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/OperandOrders.h"
#include "mx/Target/MmaFamilies.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static InFlightDiagnostic emitLayoutError(MatmulOpInterface op, MemRefType type,
                                          StringRef name) {
  return op->emitOpError("expected ")
         << name << " to be a matrix with identity layout on the GPU, found "
         << type;
}

/// Fails unless the static reduction size is a supported multiple. Suggests the
/// nearest supported sizes.
static LogicalResult verifyReduction(MatmulOpInterface op,
                                     const target::MmaForm &mma) {
  int64_t k = cast<MemRefType>(op.getA().getType()).getShape().back();
  int64_t multiple = mma.reductionMultiple;
  if (ShapedType::isDynamic(k) || k % multiple == 0)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("expected a reduction of a multiple of ")
      << multiple << " elements for " << mma.describeInstruction() << " of "
      << target::getName(mma.a->type) << " and " << target::getName(mma.b->type)
      << " on the GPU, found " << k;
  diag.attachNote() << "the nearest are " << k / multiple * multiple << " and "
                    << (k / multiple + 1) * multiple;
  for (const target::OperandForm *form : {mma.a, mma.b})
    if (k % form->rowMultiple) {
      diag.attachNote() << "the copy engine loads rows of "
                        << target::getName(form->type) << " in multiples of "
                        << form->rowMultiple << " elements";
      break;
    }
  return diag;
}

/// Verifies strided rows. Packing kernels do not support them.
static LogicalResult verifyRows(MatmulOpInterface op, MemRefType type,
                                const target::OperandForm &form,
                                StringRef name) {
  if (isContiguous(type))
    return success();
  if (!mayHaveStride(type))
    return emitLayoutError(op, type, name);
  return verifyRowStride(op, type, form.rowMultiple, name);
}

/// Verifies quantized results, scattered rows and columns of several matrices.
static LogicalResult verifyResultForm(MatmulOpInterface op) {
  if (Value rows = op.getScatterRows())
    if (auto type = cast<MemRefType>(rows.getType()); !isContiguous(type))
      return op->emitOpError("expected scatter with identity layout on the "
                             "GPU, found ")
             << type;
  if (Value scales = op.getResultScales())
    if (auto type = cast<MemRefType>(scales.getType());
        type.getRank() != 5 + op.isMasked() || !isContiguous(type))
      return op->emitOpError("expected scales of the result in layout sf_128x4 "
                             "on the GPU, found ")
             << type;
  if (op.getNumB() == 1 && !op.getResultScales())
    return success();
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getShape().back();
  int64_t multiple = op.getResultScales() ? kQuantizedColumns : kScaleTileRows;
  if (ShapedType::isDynamic(columns) || columns % multiple == 0)
    return success();
  return op->emitOpError("expected a result that is quantized or uses several "
                         "B matrices to have a multiple of ")
         << multiple << " columns on the GPU, found " << columns;
}

/// Fails if an unscaled A is not bf16, the type to which threads convert B.
static LogicalResult verifyNumbers(MatmulOpInterface op) {
  if (op.getAScales())
    return success();
  Type a = getElementTypeOrSelf(op.getA().getType());
  if (a.isBF16())
    return success();
  return op->emitOpError("expected operand 'a' to be bf16 on the GPU, found ")
         << a
         << ": operand 'b' is dequantized to bf16, and the tensor core cannot "
            "multiply f16 by bf16. Convert 'a' to bf16, which rounds the "
            "values, or quantize 'a' with mx.quantize";
}

/// Returns the layout of scales in kernels.
static ScaleLayoutKind getFormLayout(MatmulOpInterface op, Value scales,
                                     BlockShape block) {
  if (areTiles(scales, block))
    return ScaleLayoutKind::Sf128x4;
  bool isRead =
      getBlockFormat(getElementTypeOrSelf(scales), block).hasMNMajor &&
      op.getPromote();
  return isRead ? ScaleLayoutKind::MNMajor : ScaleLayoutKind::Linear;
}

/// Fails unless the chip multiplies folded operands in this form.
static LogicalResult verifyFolded(MatmulOpInterface op,
                                  const target::TargetInfo &target) {
  auto isFolded = [](Value scales, BlockShape blockSize) {
    const BlockFormat *format =
        scales ? findBlockFormat(getElementTypeOrSelf(scales), blockSize)
               : nullptr;
    return format && format->isFolded;
  };
  if (!op.getPromote() && !isFolded(op.getAScales(), op.getBlockSize()) &&
      !isFolded(op.getBScales(), op.getBlockSizeOfB()))
    return success();
  bool isWgmma = target.mmaFamily == target::MmaFamily::Wgmma;
  if (!isWgmma && op.getPromote() &&
      getElementTypeOrSelf(op.getAScales()).isF32())
    return op.emitOpError("expected no promote with f32 scales on ")
           << target.chip << ", found promote = " << *op.getPromote()
           << ": leave out promote, or compile for sm_90a";
  if (!isWgmma)
    return op.emitOpError("expected blocks of 32 elements on ")
           << target.chip << ", found folded operands: fold for sm_90a only";
  if (!op.getPromote())
    return op.emitOpError("expected promote with folded operands on ")
           << target.chip << ", found none";
  if (int64_t rows = getBlockRows(getElementTypeOrSelf(op.getAScales()),
                                  op.getBlockSize());
      rows > 1)
    return op.emitOpError("expected 'a' in blocks of single rows with promote "
                          "on ")
           << target.chip << ", found blocks of "
           << spellBlockSize(op.getBlockSize())
           << ": quantize 'a' with block_size = 128";
  // A tile of two matrices of B has 256 columns, too many for partial sums of
  // several steps.
  if (op.getNumB() > 1 && *op.getPromote() > target::kFoldedTileK)
    return op.emitOpError("expected promote = ")
           << target::kFoldedTileK << " with " << op.getNumB()
           << " B matrices on " << target.chip
           << ", found promote = " << *op.getPromote();
  if (op.getBlockSizeOfB() == BlockFormat::kWhole ||
      op.getBlockSize() != BlockFormat::kWhole)
    return success();
  return op.emitOpError("expected b_block_size = row with block_size = row on ")
         << target.chip << ", found blocks of "
         << spellBlockSize(op.getBlockSizeOfB())
         << " elements: exchange the operands, or fold 'a' to blocks";
}

LogicalResult mx::mxgpu::verifyMatmulSupport(MatmulOpInterface op,
                                             const target::TargetInfo &target) {
  if (failed(ElementRegion(op.getEpilogueBlock()).verify()))
    return failure();
  bool isGrouped = op.getRaggedOrNone() != RaggedKind::None;
  for (auto [operand, scales, block, name] :
       {std::tuple(op.getA(), op.getAScales(), op.getBlockSize(), "a"),
        {op.getB(), op.getBScales(), op.getBlockSizeOfB(), "b"}}) {
    auto type = cast<MemRefType>(operand.getType());
    // Each expert group of rows has its own B matrix.
    int64_t batch = op.getRaggedOrNone() == RaggedKind::Rows &&
                    (name[0] == 'b' || op.isMasked());
    OperandOrderAttrInterface order =
        name[0] == 'b' ? getOrderOfB(op) : getOrderOfA(op);
    int64_t tileRank = order ? order.getTiles().stored.size() : 0;
    if (type.getRank() != 2 + batch + tileRank)
      return emitLayoutError(op, type, name)
             << ": multiply one matrix at a time, or use mx.grouped_matmul "
                "if the rows belong to expert groups";
    if ((isGrouped || order) && !isContiguous(type))
      return emitLayoutError(op, type, name);
    if (!scales)
      continue;
    auto scaleType = cast<MemRefType>(scales.getType());
    ScaleLayoutKind layout = getFormLayout(op, scales, block);
    if (getLayoutKind(scaleType, 2 + batch) != layout)
      return op->emitOpError("expected scales of ")
             << name << " in layout " << stringifyScaleLayoutKind(layout)
             << " on the GPU, found " << scaleType
             << ": quantize to #mx.scale_layout<"
             << stringifyScaleLayoutKind(layout) << ">, or use mx.relayout";
    if (!isContiguous(scaleType))
      return op->emitOpError("expected scales of ")
             << name << " with identity layout on the GPU, found a slice, "
             << scaleType << ": pass the scales as a separate argument";
  }
  if (failed(verifyNumbers(op)))
    return failure();
  if (failed(verifyFolded(op, target)))
    return failure();
  std::optional<MatmulProblem> problem = getMatmulProblem(op, target);
  if (!problem) {
    for (OperandOrderAttrInterface order : {getOrderOfA(op), getOrderOfB(op)})
      if (order)
        return op->emitOpError("expected operand orders that kernels for ")
               << target.chip << " support, found " << order
               << ": remove mx.pack_operand";
    if (op.getBlockSize() == BlockFormat::kWhole)
      return op->emitOpError("expected blocks of a known size on ")
             << target.chip << ", found a scale for a whole row: quantize in "
             << "blocks of a known size, or compile for sm_90a";
    StringRef advice = op.getBScales()   ? ""
                       : op.getAScales() ? ": quantize 'b', or convert 'a' to "
                                           "bf16 with mx.dequantize"
                                         : ": quantize 'b' with mx.quantize or "
                                           "--mx-quantize-matmuls";
    return op->emitOpError("expected operands that the tensor core multiplies, "
                           "found ")
           << op.getA().getType() << " and " << op.getB().getType() << advice;
  }
  const target::MmaForm &mma = problem->mma;
  if (failed(verifyReduction(op, mma)) ||
      failed(
          verifyRows(op, cast<MemRefType>(op.getA().getType()), *mma.a, "a")) ||
      failed(
          verifyRows(op, cast<MemRefType>(op.getB().getType()), *mma.b, "b")))
    return failure();
  auto out = cast<MemRefType>(op.getOut().getType());
  if (!isContiguous(out))
    return op->emitOpError("expected a result with identity layout on the GPU, "
                           "found ")
           << out;
  if (failed(verifyResultForm(op)))
    return failure();
  if (!isGrouped)
    return success();
  auto offsets = cast<MemRefType>(op.getExpertOffsets().getType());
  if (!isContiguous(offsets))
    return op->emitOpError("expected offsets with identity layout on the GPU, "
                           "found ")
           << offsets;
  return success();
}

LogicalResult
mx::mxgpu::verifyScheduleSupport(MatmulOpInterface op, ScheduleAttr schedule,
                                 const target::TargetInfo &target) {
  if (!schedule.getStages())
    return op->emitOpError("expected a schedule with a number of stages (run "
                           "mx-select-schedule first) on the GPU, found ")
           << schedule;
  MatmulProblem problem = *getMatmulProblem(op, target);
  Workspace permuted = getPermuted(schedule.getFields());
  for (auto [operand, order] : {std::pair(Workspace::A, getOrderOfA(op)),
                                {Workspace::B, getOrderOfB(op)}}) {
    auto found = dyn_cast_if_present<KOrderAttr>(order);
    if (bool(found) != (permuted == operand))
      return op->emitOpError("expected ")
             << stringifyWorkspace(operand)
             << (permuted == operand ? " in" : " not in")
             << " #mxgpu.k_order with " << schedule
             << ": only strategies with permuted_a or permuted_b support the "
                "order";
    if (int64_t block = getReductionBlock(problem.k);
        found && found.getBlock() != block)
      return op->emitOpError("expected ")
             << stringifyWorkspace(operand) << " in #mxgpu.k_order<" << block
             << "> on the GPU, found " << found;
  }
  auto error = checkSchedule(problem, schedule.getFields(), target);
  if (!error)
    return success();
  InFlightDiagnostic diag = op->emitOpError(error->message);
  for (const std::string &row : error->table)
    diag.attachNote() << row;
  return diag;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Returns the size of a dimension counted from the last.
static Value getSizeFromLast(KernelBuilder &host, Value memref,
                             int64_t fromLast) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  return host.dim(memref, rank - fromLast);
}

bool mx::mxgpu::areTiles(Value scales, BlockShape block) {
  return getBlockFormat(getElementTypeOrSelf(scales), block).hasTiles;
}

/// Requires operands and scales for `m x k` and `n x k` elements.
static void checkOperands(MatmulKernel &kernel, WorkPolicy &work, Value m,
                          Value n, Value k) {
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  const target::MmaForm &form = kernel.matmul.problem.mma;
  MatmulOpInterface op = kernel.matmul.op;
  Value aTiles = work.getRowTiles(m), bTiles = work.getColumnTiles(n);
  int64_t batchOfA = cast<MemRefType>(op.getA().getType()).getRank() - 2;
  auto batchOfB = static_cast<int64_t>(getLogicalShapeOfB(op).size()) - 2;
  for (auto [scales, matrix, rows, block, tiles, batch, name] :
       {std::tuple(op.getAScales(), matrices.aScales, m, op.getBlockSize(),
                   aTiles, batchOfA, "a_scales"),
        {op.getBScales(), matrices.bScales, n, op.getBlockSizeOfB(), bTiles,
         batchOfB, "b_scales"}}) {
    if (scales && areTiles(scales, block))
      requireScaleSizes(host, matrix, rows, k, block, tiles, name);
    else if (scales)
      requireScaleSizes(host, scales, rows, k, block,
                        /*rowTiles=*/Value(), name, batch);
  }
  Value counts[] = {m, n};
  for (auto [classes, rows] : llvm::zip(op.getRowClasses(), counts))
    requireSize(host, getSizeFromLast(host, classes, 1),
                host.ceilDiv(rows, kRowsPerWord),
                "the last dimension of row classes");
  requireRows(host, matrices.a, form.a->rowMultiple, form.a->alignment, "a");
  requireRows(host, op.getB(), form.b->rowMultiple, form.b->alignment, "b");
}

/// Returns the rows of a B matrix. Packed tiles may be padded, so use the
/// columns of the result.
Value mx::mxgpu::getRowsOfB(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  KernelBuilder &host = kernel.host;
  if (!hasPackedB(op))
    return getSizeFromLast(host, op.getB(), 2);
  return host.mul(getSizeFromLast(host, op.getOut(), 1),
                  host.index(kernel.matmul.problem.numB));
}

/// Requires rows or packed tiles of B with `k` elements.
static void checkRowsOfB(MatmulKernel &kernel, Value n, Value k) {
  KernelBuilder &host = kernel.host;
  MatmulOpInterface op = kernel.matmul.op;
  Value b = op.getB();
  int64_t last = cast<MemRefType>(b.getType()).getRank() - 1;
  if (!hasPackedB(op)) {
    requireSize(host, host.dim(b, last), k,
                "dimension " + Twine(last) + " of b");
    return;
  }
  OperandTiles tiles = getOrderOfB(op).getTiles();
  last -= tiles.stored.size();
  Value rowTiles = host.ceilDiv(n, tiles.rows);
  Value columnTiles = host.ceilDiv(k, tiles.columns);
  requireSize(host, host.dim(b, last - 1), rowTiles,
              "dimension " + Twine(last - 1) + " of b");
  requireSize(host, host.dim(b, last), columnTiles,
              "dimension " + Twine(last) + " of b");
}

void mx::mxgpu::checkSizes(MatmulKernel &kernel, const Policies &policies) {
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  MatmulOpInterface op = kernel.matmul.op;
  if (!op.isMasked())
    requireExperts(host, op.getExpertOffsets());
  // If expert groups own matrices, these are the sizes of a single matrix.
  Value m = getSizeFromLast(host, op.getA(), 2);
  Value n = getRowsOfB(kernel);
  Value k = host.dim(matrices.a, 1);
  requireAtMost(host, host.dim(matrices.a, 0), kMaxExtent, "rows of a");
  requireAtMost(host, host.dim(matrices.b, 0), kMaxExtent, "rows of b");
  requireAtMost(host, k, kMaxExtent, "columns of a");
  int64_t lastOfA = cast<MemRefType>(op.getA().getType()).getRank() - 1;
  requireMultiple(host, k, kernel.matmul.problem.mma.reductionMultiple,
                  "dimension " + Twine(lastOfA) + " of a");
  Value columns = policies.b->getResultColumns(n);
  policies.epilogue->checkColumns(columns);
  checkRowsOfB(kernel, n, k);
  policies.epilogue->checkSizes(m, columns);
  policies.work->checkExperts();
  checkOperands(kernel, *policies.work, m, n, k);
  policies.mainLoop->checkSizes();
}
