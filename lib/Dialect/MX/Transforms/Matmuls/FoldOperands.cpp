//===- FoldOperands.cpp - Folding of matmul operands ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folded operands have a scale per 128 elements or more, so that the tensor
// core adds products of several MX blocks before a scale is applied.
//===----------------------------------------------------------------------===//

#include "FoldOperands.h"
#include "../Utils/Tensors.h"
#include "QuantizeRecipes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic numFolded("mx-fold-operands", "numFolded",
                                         "Matmuls folded");

namespace mx {
#define GEN_PASS_DEF_MXFOLDOPERANDS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Returns the reason why an operand with blocks of `present` elements cannot
/// be folded to `blockSize`.
static Reason checkOperand(StringRef name, Value elements, Value scales,
                           BlockShape present, int64_t blockSize,
                           bool isOrdered) {
  auto describe = [&](const Twine &text) {
    return ("operand '" + name + "' " + text).str();
  };
  if (!scales)
    return describe("has no scales");
  Type scaleType = getElementTypeOrSelf(scales);
  if (!isPowerOfTwoScale(scaleType))
    return describe("has no scales of type f8E8M0FNU");
  if (present.rows ||
      (int64_t(present) != blockSize && present != kPowerOfTwoBlockSize))
    return describe("has blocks of " + spellBlockSize(present));
  const BlockFormat &format = getBlockFormat(scaleType, BlockShape(blockSize));
  if (!format.takes(getElementTypeOrSelf(elements)))
    return describe("is not of type " + format.listElements());
  if (isOrdered)
    return describe("is packed: fold it first");
  int64_t size = cast<ShapedType>(elements.getType()).getShape().back();
  if (ShapedType::isDynamic(size))
    return "the size of its reduction dimension is not known";
  if (blockSize != BlockFormat::kWhole && size % blockSize)
    return "its reduction dimension of " + std::to_string(size) +
           " is not a multiple of " + std::to_string(blockSize);
  return {};
}

/// Returns the folding of `op`. Blocks of a reduction that expert groups divide
/// are as long as the alignment of the groups.
static Folding getFolding(MatmulOpInterface op, const Folding &folding) {
  constexpr int64_t kBlock = kRaggedReductionAlign;
  return op.getRaggedOrNone() == RaggedKind::Reduction
             ? Folding{kBlock, kBlock, kBlock, folding.limit}
             : folding;
}

/// Returns true if an OpT writes an operand with a single use, and may write
/// wider blocks.
template <typename OpT>
static bool isWrittenBy(Value elements, Value scales) {
  auto isUsedOnce = [](Value value) {
    return llvm::count_if(value.getUsers(), llvm::IsaPred<tensor::DimOp>) + 1 ==
           std::distance(value.use_begin(), value.use_end());
  };
  auto quantizer = elements.getDefiningOp<OpT>();
  return quantizer && scales.getDefiningOp() == quantizer &&
         !quantizer.getSquare() &&
         quantizer.getNumDestinations() == quantizer.getAxes().size() &&
         isUsedOnce(elements) && isUsedOnce(scales);
}

/// Returns the reason why `op` cannot be folded. mx.fold does not support
/// expert groups along the reduction.
static Reason checkMatmul(MatmulOpInterface op, const Folding &folding) {
  if (!op.getResult())
    return "it operates on memrefs";
  for (auto [elements, scales, present] :
       {std::tuple(op.getA(), op.getAScales(), op.getBlockSize()),
        {op.getB(), op.getBScales(), op.getBlockSizeOfB()}})
    if (op.getRaggedOrNone() == RaggedKind::Reduction && scales &&
        present != folding.a && !isWrittenBy<QuantizeOp>(elements, scales) &&
        !isWrittenBy<FusedQuantizeOp>(elements, scales))
      return "expert groups divide its reduction dimension, and no quantizer "
             "writes its operands for it alone";
  Reason why = checkOperand("a", op.getA(), op.getAScales(), op.getBlockSize(),
                            folding.a, bool(getOrderOfA(op)));
  if (why.empty())
    why = checkOperand("b", op.getB(), op.getBScales(), op.getBlockSizeOfB(),
                       folding.b, bool(getOrderOfB(op)));
  if (!why.empty())
    return why;
  int64_t size = cast<ShapedType>(op.getA().getType()).getShape().back();
  if (size < folding.promote)
    return "its reduction dimension of " + std::to_string(size) +
           " is shorter than promote = " + std::to_string(folding.promote);
  return {};
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

namespace {
class Folder {
public:
  Folder(MLIRContext *context, const Folding &folding)
      : rewriter(context), folding(folding) {}

  void add(MatmulOpInterface op);
  void fold();

private:
  template <typename OpT>
  SmallVector<int64_t> getBlocks(OpT op);
  template <typename OpT>
  int64_t getBlock(OpT op, unsigned i);
  void foldStored(MatmulOpInterface op, unsigned position);
  void setAttributes(MatmulOpInterface op);

  IRRewriter rewriter;
  const Folding &folding;
  SmallVector<MatmulOpInterface> matmuls;
  /// Block sizes of the folded operands, for elements and scales.
  DenseMap<OpOperand *, int64_t> wanted;
};
} // namespace

void Folder::add(MatmulOpInterface op) {
  matmuls.push_back(op);
  Folding own = getFolding(op, folding);
  const std::pair<int64_t, int64_t> blockSizes[] = {
      {op.getBlockSize(), own.a}, {op.getBlockSizeOfB(), own.b}};
  for (auto [position, sizes] : llvm::zip_equal(kElements, blockSizes))
    if (sizes.first != sizes.second)
      for (unsigned number : {position, position + 1})
        wanted[&op->getOpOperand(number)] = sizes.second;
}

/// Returns the block size that all users of destination `i` fold, or the
/// present block size.
template <typename OpT>
int64_t Folder::getBlock(OpT op, unsigned i) {
  auto present = static_cast<int64_t>(op.getBlockSize());
  unsigned number = op.getElementsNumber(i);
  if (op.getOut(number).kind != QuantizeOut::Kind::Elements)
    return present;
  Value pair[] = {op->getResult(number), op->getResult(number + 1)};
  int64_t blockSize = 0;
  for (auto [value, other, step] :
       {std::tuple(pair[0], pair[1], 1), {pair[1], pair[0], -1}})
    for (OpOperand &use : value.getUses()) {
      if (isa<tensor::DimOp>(use.getOwner()) && step == 1)
        continue;
      int64_t found = wanted.lookup(&use);
      if (!found || (blockSize && found != blockSize) ||
          use.getOwner()->getOperand(use.getOperandNumber() + step) != other)
        return present;
      blockSize = found;
    }
  return blockSize ? blockSize : present;
}

/// Returns the new block sizes of all destinations, or an empty list if the
/// quantization does not change.
template <typename OpT>
SmallVector<int64_t> Folder::getBlocks(OpT op) {
  // The rows of a square share their scales.
  if (!op->getNumResults() || op.getSquare())
    return {};
  SmallVector<int64_t> blocks;
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    blocks.push_back(getBlock(op, i));
  bool isSplit = !llvm::all_equal(blocks);
  if ((isSplit && blocks.size() > op.getAxes().size()) ||
      (!isSplit && blocks[0] == static_cast<int64_t>(op.getBlockSize())))
    return {};
  return blocks;
}

/// Inserts an mx.fold of an operand.
void Folder::foldStored(MatmulOpInterface op, unsigned position) {
  OpOperand &elements = op->getOpOperand(position);
  OpOperand &scales = op->getOpOperand(position + 1);
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  RaggedKind ragged = RaggedKind::None;
  if (position == kElements[0] && !op.isMasked())
    ragged = op.getRaggedOrNone();
  bool isRagged = ragged != RaggedKind::None;
  Value offsets = isRagged ? op.getExpertOffsets() : Value();
  int64_t blockSize = wanted.lookup(&elements);
  SmallVector<Value> outs = {
      makeEmpty(rewriter, loc,
                tensor::getMixedSizes(rewriter, loc, elements.get()),
                getElementTypeOrSelf(elements.get())),
      makeScales(rewriter, loc, elements.get(),
                 cast<RankedTensorType>(scales.get().getType()), blockSize,
                 ragged, offsets)};
  if (folding.limit)
    outs.push_back(
        makeSpreads(rewriter, loc, elements.get(), blockSize, /*axis=*/1));
  auto fold = FoldOp::create(
      rewriter, loc, ValueRange(outs).getTypes(), elements.get(), scales.get(),
      offsets, outs,
      isRagged ? RaggedKindAttr::get(rewriter.getContext(), ragged)
               : RaggedKindAttr(),
      BlockShape(blockSize).getAttr(op.getContext()),
      folding.limit ? rewriter.getUnitAttr() : UnitAttr());
  rewriter.modifyOpInPlace(op, [&] {
    elements.set(fold.getResult(0));
    scales.set(fold.getResult(1));
  });
}

void Folder::setAttributes(MatmulOpInterface op) {
  Folding own = getFolding(op, folding);
  auto set = [&](auto matmul) {
    matmul.setBlockSize(BlockShape(own.a));
    std::optional<BlockShape> ofB;
    if (own.b != own.a)
      ofB = BlockShape(own.b);
    matmul.setBBlockSize(ofB);
    matmul.setPromote(own.promote);
  };
  rewriter.modifyOpInPlace(op, [&] {
    llvm::TypeSwitch<Operation *>(op).Case<MatmulOp, GroupedMatmulOp>(set);
  });
}

void Folder::fold() {
  llvm::SetVector<Operation *> quantizers;
  for (MatmulOpInterface op : matmuls)
    for (unsigned position : kElements)
      if (Operation *definition = op->getOperand(position).getDefiningOp())
        quantizers.insert(definition);
  for (Operation *quantizer : quantizers) {
    if (auto op = dyn_cast<QuantizeOp>(quantizer)) {
      if (SmallVector<int64_t> blocks = getBlocks(op); !blocks.empty())
        widenBlocks(rewriter, op.generalize(rewriter), blocks,
                    bool(folding.limit));
    } else if (auto op = dyn_cast<FusedQuantizeOp>(quantizer)) {
      if (op.getDequantized())
        continue;
      if (SmallVector<int64_t> blocks = getBlocks(op); !blocks.empty())
        widenBlocks(rewriter, op, blocks, bool(folding.limit));
    }
  }
  for (MatmulOpInterface op : matmuls) {
    for (unsigned position : kElements) {
      auto quantize =
          op->getOperand(position + 1).getDefiningOp<FusedQuantizeOp>();
      bool isWritten =
          quantize && quantize.getBlockSize() != kPowerOfTwoBlockSize;
      if (!isWritten && wanted.contains(&op->getOpOperand(position)))
        foldStored(op, position);
    }
    setAttributes(op);
    if (folding.limit)
      computeWideRows(rewriter, op, *folding.limit);
  }
}

int64_t mx::foldMatmuls(ArrayRef<MatmulOpInterface> matmuls,
                        const Folding &folding) {
  if (matmuls.empty())
    return 0;
  MatmulOpInterface first = matmuls.front();
  Folder folder(first.getContext(), folding);
  int64_t count = 0;
  for (MatmulOpInterface op : matmuls) {
    if (isLeftAlone(op) || op.getPromote())
      continue;
    Reason why = checkMatmul(op, getFolding(op, folding));
    if (!why.empty()) {
      op.emitRemark() << "not folded: " << why;
      continue;
    }
    why = folding.limit ? checkLimit(op) : Reason();
    if (!why.empty()) {
      op.emitRemark() << "not folded with a limit: " << why;
      continue;
    }
    folder.add(op);
    ++count;
  }
  folder.fold();
  numFolded += count;
  return count;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the formats of folded operands.
static SmallVector<const BlockFormat *> getFoldedFormats() {
  SmallVector<const BlockFormat *> formats;
  for (const BlockFormat &format : getBlockFormats())
    if (format.isFolded && format.blockRows == 1)
      formats.push_back(&format);
  return formats;
}

namespace {
struct FoldOperands final : mx::impl::MXFoldOperandsBase<FoldOperands> {
  using MXFoldOperandsBase::MXFoldOperandsBase;

  void runOnOperation() override {
    Folding folding;
    if (failed(readOptions(folding)))
      return signalPassFailure();
    SmallVector<MatmulOpInterface> matmuls;
    getOperation()->walk([&](MatmulOpInterface op) { matmuls.push_back(op); });
    foldMatmuls(matmuls, folding);
  }

private:
  LogicalResult readOptions(Folding &folding);
};
} // namespace

LogicalResult FoldOperands::readOptions(Folding &folding) {
  SmallVector<const BlockFormat *> formats = getFoldedFormats();
  SmallVector<std::string> spelled =
      llvm::map_to_vector(formats, [](const BlockFormat *format) {
        return spellBlockSize(BlockShape(format->blockSize));
      });
  auto fail = [&](StringRef option, const Twine &expected, const Twine &found) {
    return getOperation()->emitError("expected ")
           << option << " to be " << expected << ", found " << found;
  };
  for (auto [option, name, blockSize] :
       {std::tuple(&a, "a", &folding.a), {&b, "b", &folding.b}}) {
    const auto *found = llvm::find(spelled, option->getValue());
    if (found == spelled.end())
      return fail(name, "one of " + llvm::join(spelled, ", "),
                  "'" + option->getValue() + "'");
    *blockSize = formats[found - spelled.begin()]->blockSize;
    if (*blockSize < promote)
      return fail(name, "at least promote = " + Twine(promote),
                  option->getValue());
  }
  folding.promote = promote;
  if (limit < -1 || limit > 254)
    return fail("limit", "at most 254, or -1 for none", Twine(limit));
  if (limit >= 0)
    folding.limit = limit;
  if (llvm::is_contained(spelled, std::to_string(promote)))
    return success();
  return fail("promote", "128, 256 or 512", Twine(promote));
}
