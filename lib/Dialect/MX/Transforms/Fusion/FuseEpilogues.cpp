//===- FuseEpilogues.cpp - Fusion into epilogues of matmuls ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a matmul's result has a single user, the user can run while the
// accumulators are in registers, so kernels neither write nor read the
// result.
//===----------------------------------------------------------------------===//

#include "FusedRegionBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic numEpilogues("mx-fuse-epilogues", "numEpilogues",
                                            "Operations fused into epilogues");

namespace mx {
#define GEN_PASS_DEF_MXFUSEEPILOGUES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {
/// All columns of a matmul's result, or the slice with index `number` if equal
/// slices divide the columns.
struct Slice {
  Value tensor;
  int64_t number;
};

/// Single user of a matmul's result, or the obstacle to fusing any user.
struct Use {
  MatmulOpInterface matmul;
  Operation *user = nullptr;
  SmallVector<Slice> slices;
  int64_t numSums = 1; ///< accumulators per element
  int64_t width = 0;   ///< columns of a slice
  Obstacle obstacle;   ///< obstacle to fusing any user of the result

  explicit operator bool() const { return user && !obstacle; }
};
} // namespace

/// Returns the index of a slice among equal slices that divide the columns.
/// Returns none if there is no such division, or if the slice lacks rows.
static std::optional<int64_t> getNumber(tensor::ExtractSliceOp slice) {
  auto type = slice.getSourceType();
  if (type.getRank() != 2 || slice.getType().getRank() != 2 ||
      !slice.hasUnitStride() || slice.getStaticOffset(0) != 0)
    return std::nullopt;
  int64_t all = type.getDimSize(1), width = slice.getStaticSize(1);
  int64_t first = slice.getStaticOffset(1);
  if (ShapedType::isDynamic(all) || ShapedType::isDynamic(width) ||
      ShapedType::isDynamic(first) || width == 0 || all % width ||
      first % width)
    return std::nullopt;
  FailureOr<bool> hasAllRows = ValueBoundsConstraintSet::areEqual(
      {slice.getMixedSizes()[0]}, {slice.getSource(), int64_t(0)});
  if (failed(hasAllRows) || !*hasAllRows)
    return std::nullopt;
  return first / width;
}

static Use getUse(MatmulOpInterface matmul) {
  Use use;
  use.matmul = matmul;
  auto fail = [&](const Twine &why, Operation *where) {
    use.obstacle = {why.str(), where};
    return use;
  };
  if (matmul->getNumResults() != 1)
    return fail("the matmul's result is quantized or not a tensor", matmul);
  if (matmul.readsOuts())
    return fail("the matmul accumulates into its outs: pass that tensor to "
                "this operation as an input instead",
                matmul);
  Value result = matmul->getResult(0);
  for (Operation *user : result.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    std::optional<int64_t> number = slice ? getNumber(slice) : std::nullopt;
    if (slice && !number)
      return fail("a slice of the matmul does not contain all rows and an "
                  "equal share of the columns",
                  slice);
    if (slice) {
      use.slices.push_back({slice, *number});
      use.width = slice.getType().getDimSize(1);
    }
    for (Operation *one : slice ? llvm::to_vector(slice->getUsers())
                                : SmallVector<Operation *>{user}) {
      if (use.user && use.user != one)
        return fail("the matmul's result has another use",
                    isa<linalg::LinalgOp>(one) ? use.user : one);
      use.user = one;
      if (one->getBlock() != matmul->getBlock())
        return fail("the matmul is in another block", matmul);
    }
  }
  bool isUsedWhole = llvm::is_contained(result.getUsers(), use.user);
  if (!use.user)
    return use;
  if (isUsedWhole && !use.slices.empty())
    return fail("the matmul is used both as a whole and in slices", matmul);
  auto type = cast<RankedTensorType>(result.getType());
  if (isUsedWhole) {
    use.slices.push_back({result, 0});
    use.width = type.getShape().back();
    use.numSums = matmul.getNumB();
    return use;
  }
  if (matmul.getNumB() > 1)
    return fail("the matmul already has num_b greater than 1", matmul);
  // All slices must have the same width.
  use.numSums = type.getDimSize(1) / use.width;
  llvm::SmallDenseSet<int64_t> numbers;
  for (const Slice &slice : use.slices) {
    if (cast<RankedTensorType>(slice.tensor.getType()).getDimSize(1) !=
        use.width)
      return fail("slices of the matmul differ in width", matmul);
    numbers.insert(slice.number);
  }
  if (int64_t(numbers.size()) != use.numSums)
    return fail("some columns of the matmul are not used", matmul);
  return use;
}

/// Returns true if expert groups divide the rows. Quantized results, num_b and
/// scatter require such groups.
static bool isOfRows(MatmulOpInterface matmul) {
  return matmul.getRaggedOrNone() == RaggedKind::Rows && !matmul.isMasked();
}

/// Returns true for matmuls with discardable attributes, such as a schedule.
/// The tiles of a schedule may not fit a matmul with num_b.
static bool hasAttributes(MatmulOpInterface matmul) {
  return !matmul->getDiscardableAttrs().empty();
}

/// Returns true if the user reads slices only as inputs, not as destinations.
static bool readsSlicesAsInputs(Use &use) {
  auto user = cast<DestinationStyleOpInterface>(use.user);
  return llvm::none_of(use.slices, [&](const Slice &slice) {
    return llvm::is_contained(user.getDpsInits(), slice.tensor);
  });
}

/// Replaces the user and the matmul by a matmul with an epilogue that applies
/// the old epilogue to each slice and then calls `getElement`.
static MatmulOpInterface
replaceUser(IRRewriter &rewriter, Use &use, ValueRange outs,
            function_ref<Value(FusedRegionBuilder &)> getElement) {
  rewriter.setInsertionPoint(use.user);
  Location loc =
      rewriter.getFusedLoc({use.matmul.getLoc(), use.user->getLoc()});
  MatmulOpInterface fused = use.matmul.createAlike(
      rewriter, loc, outs,
      [&](OpBuilder &, Location, ValueRange) {
        FusedRegionBuilder builder(rewriter, use.user, rewriter.getBlock());
        for (const Slice &slice : use.slices)
          builder.inlineMatmul(use.matmul, slice.tensor, slice.number,
                               use.width);
        return getElement(builder);
      },
      use.numSums);
  rewriter.replaceOp(use.user, fused);
  ++numEpilogues;
  for (const Slice &slice : use.slices)
    if (auto op = slice.tensor.getDefiningOp<tensor::ExtractSliceOp>())
      rewriter.eraseOp(op);
  rewriter.eraseOp(use.matmul);
  return fused;
}

//===----------------------------------------------------------------------===//
// Users of a matmul
//===----------------------------------------------------------------------===//

static Obstacle findEpilogueObstacle(Use &use, linalg::LinalgOp op) {
  if (Obstacle found = findElementwiseObstacle(op))
    return found;
  if (op->getNumResults() != 1)
    return {"it has " + std::to_string(op->getNumResults()) + " results"};
  if (op.getNumLoops() != 2)
    return {"its result is not a matrix"};
  if (!readsSlicesAsInputs(use))
    return {"the matmul's result is a destination of the operation"};
  if (use.numSums > 1 && !isOfRows(use.matmul))
    return {"slices of the columns are combined only in matmuls with ragged "
            "rows",
            use.matmul};
  if (use.numSums > 1 && hasAttributes(use.matmul))
    return {"the matmul has additional attributes, such as a schedule",
            use.matmul};
  if (!isa<Float32Type, BFloat16Type, Float16Type>(
          getElementTypeOrSelf(op->getResult(0))))
    return {"its result type is not f32, bf16 or f16"};
  // The user must read each slice at the position of the written element.
  for (OpOperand *input : op.getDpsInputOperands())
    for (const Slice &slice : use.slices)
      if (input->get() == slice.tensor &&
          !op.getMatchingIndexingMap(input).isIdentity())
        return {"it does not read the matmul's result element by element"};
  return {};
}

Obstacle mx::findEpilogueObstacle(MatmulOpInterface matmul,
                                  linalg::LinalgOp op) {
  if (Obstacle found = findElementwiseObstacle(op))
    return found;
  Use use = getUse(matmul);
  return use ? ::findEpilogueObstacle(use, op) : use.obstacle;
}

static bool fuseElementwise(IRRewriter &rewriter, Use &use) {
  auto op = dyn_cast<linalg::LinalgOp>(use.user);
  if (!op || ::findEpilogueObstacle(use, op))
    return false;
  replaceUser(rewriter, use, llvm::to_vector(op.getDpsInits()),
              [&](FusedRegionBuilder &builder) {
                builder.inlineElementwise(op);
                return builder.getElement(op->getResult(0));
              });
  return true;
}

static bool hasSf128x4Scales(FusedQuantizeOp op) {
  auto type = cast<RankedTensorType>(op.getScales(0).getType());
  return isMaterialized(type, /*logicalRank=*/2) ||
         ScaleLayoutAttr::get(type).getKind() == ScaleLayoutKind::Sf128x4;
}

static bool fuseQuantize(IRRewriter &rewriter, Use &use) {
  auto op = dyn_cast<FusedQuantizeOp>(use.user);
  if (!op || !op.getNumResults() || !isOfRows(use.matmul) ||
      hasAttributes(use.matmul) || op.getRaggedOrNone() != RaggedKind::Rows ||
      op.getOffsets() != use.matmul.getExpertOffsets() ||
      op.getAxes() != ArrayRef<int64_t>{1} || op.getNumValues() != 1 ||
      op.getGather() || op.getSeed() || op.getSquare() || op.getAmax() ||
      op.getDequantized() || op.getBlockSize() != kPowerOfTwoBlockSize ||
      !op.getInputScales().empty() || !readsSlicesAsInputs(use))
    return false;
  // Kernels write whole tiles of scales (docs/guide/MoE.md).
  if (ShapedType::isDynamic(use.width) ||
      use.width % (kScaleTileBlocks * op.getBlockSize()) ||
      isa<IntegerType>(getElementTypeOrSelf(op.getElements(0))) ||
      !hasSf128x4Scales(op))
    return false;
  ScaleRounding rounding = op.getRounding();
  MatmulOpInterface fused =
      replaceUser(rewriter, use, llvm::to_vector(op.getOuts()),
                  [&](FusedRegionBuilder &builder) {
                    return builder.inlinePrologue(op)[0];
                  });
  cast<GroupedMatmulOp>(*fused).setScaleRounding(rounding);
  return true;
}

static bool fuseCombine(IRRewriter &rewriter, Use &use) {
  auto op = dyn_cast<CombineOp>(use.user);
  // The scatter of a matmul adds rows in any order.
  if (!op || op.getOrder() == AdditionOrder::Fixed || !op.getNumResults() ||
      !isOfRows(use.matmul) || use.numSums > 1 ||
      op.getInput() != use.slices.front().tensor || !readsSlicesAsInputs(use) ||
      op.getOffsets() != use.matmul.getExpertOffsets())
    return false;
  Value rows = op.getRows();
  MatmulOpInterface fused =
      replaceUser(rewriter, use, llvm::to_vector(op.getOuts()),
                  [&](FusedRegionBuilder &builder) {
                    return builder.getElement(op.getInput());
                  });
  cast<GroupedMatmulOp>(*fused).getScatterMutable().assign(rows);
  return true;
}

static bool fuseFirstMatmul(IRRewriter &rewriter, Operation *root) {
  WalkResult result = root->walk([&](MatmulOpInterface matmul) {
    Use use = getUse(matmul);
    bool isFused =
        use && (fuseElementwise(rewriter, use) || fuseQuantize(rewriter, use) ||
                fuseCombine(rewriter, use));
    return isFused ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct FuseEpilogues final : mx::impl::MXFuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    while (fuseFirstMatmul(rewriter, getOperation())) {
    }
  }
};
} // namespace
