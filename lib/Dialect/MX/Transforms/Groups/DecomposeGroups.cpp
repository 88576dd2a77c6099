//===- DecomposeGroups.cpp - Decomposition of rank-group operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mx.dispatch and mx.collect describe the rows that a rank needs. The pass
// replaces them by local sums of rows and by collectives on whole windows. An
// all-gather copies every row to every rank. An all-to-all sends each rank's
// partial sums to the rank that owns the token. Ranks ignore the rows that they
// do not need.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXDECOMPOSEGROUPS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Placement of collectives
//===----------------------------------------------------------------------===//

static bool isCollective(Operation *op) {
  return isa<DispatchOp, CollectOp, CollectPairsOp, AllGatherOp, AllToAllOp>(
      op);
}

/// Returns true if `parent` executes its body the same number of times on all
/// ranks.
static bool isSameOnAllRanks(Operation *parent) {
  if (isa<func::FuncOp, scf::ExecuteRegionOp>(parent))
    return true;
  auto loop = dyn_cast<scf::ForOp>(parent);
  return loop && getConstantIntValue(loop.getLowerBound()) &&
         getConstantIntValue(loop.getUpperBound()) &&
         getConstantIntValue(loop.getStep());
}

static LogicalResult verifyParents(Operation *op, StringRef what) {
  // The first block of a region runs once, regardless of later branches.
  if (op->getBlock() != &op->getParentRegion()->front())
    return op->emitOpError("expected ")
           << what
           << " outside of branches, because all ranks must execute it the "
              "same number of times, found it in the target block of a branch";
  for (Operation *parent = op->getParentOp(); !isa<ModuleOp>(parent);
       parent = parent->getParentOp())
    if (!isSameOnAllRanks(parent)) // groups C8
      return op->emitOpError("expected ")
             << what
             << " outside of branches and of loops with non-constant bounds, "
                "because all ranks must execute it the same number of times, "
                "found it in "
             << parent->getName();
  return success();
}

/// Rejects collectives that some ranks might execute more often than others,
/// because the ranks would deadlock.
static LogicalResult verifyCollectives(ModuleOp module) {
  SetVector<Operation *> functions;
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    if (!isCollective(op))
      return success();
    if (auto function = op->getParentOfType<func::FuncOp>())
      functions.insert(function);
    return verifyParents(op, "a collective");
  });
  if (result.wasInterrupted())
    return failure();
  for (size_t i = 0; i < functions.size(); ++i) {
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(functions[i], module);
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses) {
      if (failed(verifyParents(use.getUser(),
                               "a call to a function with collectives")))
        return failure();
      if (auto caller = use.getUser()->getParentOfType<func::FuncOp>())
        functions.insert(caller);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// Builds the decomposition of an operation on a rank group.
class GroupBuilder : public mx::ArithBuilder {
public:
  GroupBuilder(Operation *op, RankGroupOp group, FlatSymbolRefAttr name)
      : mx::ArithBuilder(op->getLoc(), op), group(group), name(name) {}

  int64_t getTokens() const { return RankGroupOp(group).getTokens(); }
  int64_t getRows() const { return RankGroupOp(group).getRows(); }
  int64_t getExpertsOfRank(int64_t experts) const {
    return experts / int64_t(RankGroupOp(group).getSize());
  }

  Value window(Type type) { return WindowOp::create(*this, type, name); }
  Value empty(ArrayRef<int64_t> shape, Type element) {
    return tensor::EmptyOp::create(*this, shape, element);
  }
  Value allGather(Value input, Value outs) {
    return AllGatherOp::create(*this, outs.getType(), name, input, outs)
        .getResult(0);
  }
  /// Exchanges segments with the other ranks.
  Value allToAll(Value input) {
    return AllToAllOp::create(*this, input.getType(), name, input,
                              window(input.getType()))
        .getResult(0);
  }
  /// Adds rows in a fixed order, as `mx.combine` does.
  Value combine(Value input, Value rows, Value outs, bool overwrite) {
    return CombineOp::create(*this, outs.getType(), input, rows,
                             /*offsets=*/Value(), outs, AdditionOrder::Fixed,
                             overwrite)
        .getResult(0);
  }

  /// Requires at run time that a rank has at most the declared number of
  /// tokens, unless the static size of `ids` proves it.
  void requireTokens(Value ids);
  /// Requires at run time that two arrays have the same number of rows.
  void requireRows(Value array, StringRef what, Value other,
                   StringRef otherWhat);
  /// Builds a tensor like `out`; `emit` computes its elements from the elements
  /// of `inputs`.
  Value forEachElement(
      Value out, ValueRange inputs,
      llvm::function_ref<Value(mx::ArithBuilder &body, ValueRange given)> emit);
  Value padIds(Value ids);
  Value findOwners(Value ids, int64_t experts);
  Value findRows(Value slots, int64_t choices);
  Value findTokens(Value owners);

private:
  RankGroupOp group;
  FlatSymbolRefAttr name;
};

} // namespace

static int64_t getKnownRows(Value array) {
  return cast<ShapedType>(array.getType()).getDimSize(0);
}

void GroupBuilder::requireTokens(Value ids) {
  int64_t known = getKnownRows(ids);
  if (!ShapedType::isDynamic(known) && known <= getTokens())
    return;
  Value found = tensor::DimOp::create(*this, ids, 0);
  Value fits = arith::CmpIOp::create(*this, arith::CmpIPredicate::ule, found,
                                     index(getTokens()));
  cf::AssertOp::create(*this, fits,
                       "expected at most " + std::to_string(getTokens()) +
                           " tokens per rank of group " +
                           RankGroupOp(group).getSymName().str());
}

void GroupBuilder::requireRows(Value array, StringRef what, Value other,
                               StringRef otherWhat) {
  if (!ShapedType::isDynamic(getKnownRows(array)) &&
      !ShapedType::isDynamic(getKnownRows(other)))
    return; // compared by the verifier
  Value same = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                                     tensor::DimOp::create(*this, array, 0),
                                     tensor::DimOp::create(*this, other, 0));
  cf::AssertOp::create(
      *this, same,
      ("expected equal numbers of rows in " + what + " and " + otherWhat)
          .str());
}

Value GroupBuilder::forEachElement(
    Value out, ValueRange inputs,
    llvm::function_ref<Value(mx::ArithBuilder &body, ValueRange given)> emit) {
  int64_t rank = cast<ShapedType>(out.getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1, getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             *this, out.getType(), inputs, out, maps, loops,
             [&](OpBuilder &nested, Location loc, ValueRange given) {
               mx::ArithBuilder body(loc, nested);
               linalg::YieldOp::create(body, emit(body, given));
             })
      .getResult(0);
}

/// Pads `ids` with -1 to the maximum number of tokens per rank. Does not
/// truncate longer arrays, because the all-gather rejects them.
Value GroupBuilder::padIds(Value ids) {
  auto type = cast<RankedTensorType>(ids.getType());
  OpFoldResult high;
  if (type.isDynamicDim(0)) {
    Value found = tensor::DimOp::create(*this, ids, 0);
    high =
        arith::MaxSIOp::create(*this, sub(index(getTokens()), found), index(0))
            .getResult();
  } else {
    int64_t missing = getTokens() - type.getDimSize(0);
    high = getIndexAttr(std::max<int64_t>(missing, 0));
  }
  SmallVector<OpFoldResult> low(2, getIndexAttr(0));
  SmallVector<OpFoldResult> highs = {high, getIndexAttr(0)};
  Value none = arith::ConstantOp::create(
      *this, getIntegerAttr(type.getElementType(), -1));
  return tensor::PadOp::create(*this, Type(), ids, low, highs, none);
}

/// Returns the rank that owns the expert of each id, or -1 (i32, same shape).
Value GroupBuilder::findOwners(Value ids, int64_t experts) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(*this, getLoc(), ids);
  Value out = tensor::EmptyOp::create(*this, sizes, getI32Type());
  int64_t own = getExpertsOfRank(experts);
  return forEachElement(
      out, ids, [&](mx::ArithBuilder &body, ValueRange given) {
        Value id = given[0];
        // The unsigned comparison also excludes negative ids.
        Value exists = body.isBelow(id, body.constantLike(id, experts));
        Value owner = body.div(id, own);
        Value rank = body.select(exists, owner, body.constantLike(id, -1));
        if (!id.getType().isInteger(32))
          rank = arith::TruncIOp::create(body, body.getI32Type(), rank);
        return rank;
      });
}

/// Returns the window row of each slot, and -1 for slots that are -1.
Value GroupBuilder::findRows(Value slots, int64_t choices) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(*this, getLoc(), slots);
  Value out = tensor::EmptyOp::create(*this, sizes,
                                      getElementTypeOrSelf(slots.getType()));
  return forEachElement(
      out, slots, [&](mx::ArithBuilder &body, ValueRange given) -> Value {
        return arith::FloorDivSIOp::create(body, given[0], body.i32(choices));
      });
}

/// Returns the token of each row of an all-to-all, or -1 if the rank that sent
/// the row owns no expert of the token. `owners` contains the ranks that own
/// the experts of this rank's tokens.
Value GroupBuilder::findTokens(Value owners) {
  int64_t choices = cast<RankedTensorType>(owners.getType()).getDimSize(1);
  Value out = empty({getRows()}, getI32Type());
  return forEachElement(out, {}, [&](mx::ArithBuilder &body, ValueRange) {
    Type i32 = body.getI32Type();
    Value row = linalg::IndexOp::create(body, 0);
    Value count = body.index(getTokens());
    Value token = body.rem(row, count);
    Value rank = arith::IndexCastOp::create(body, i32, body.div(row, count));
    Value isOwner;
    for (int64_t choice = 0; choice < choices; ++choice) {
      Value owner = tensor::ExtractOp::create(
          body, owners, ValueRange{token, body.index(choice)});
      Value isRank =
          arith::CmpIOp::create(body, arith::CmpIPredicate::eq, owner, rank);
      isOwner = isOwner ? arith::OrIOp::create(body, isOwner, isRank) : isRank;
    }
    Value none = body.i32(-1);
    return body.select(isOwner, arith::IndexCastOp::create(body, i32, token),
                       none);
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static void decompose(DispatchOp op) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  for (auto [i, payload] : llvm::enumerate(op.getPayloads()))
    builder.requireRows(payload, "payload " + std::to_string(i), op.getIds(),
                        "ids");
  SmallVector<Value> windows = {
      builder.allGather(builder.padIds(op.getIds()), op.getOuts()[0])};
  for (auto [payload, out] :
       llvm::zip_equal(op.getPayloads(), op.getOuts().drop_front()))
    windows.push_back(builder.allGather(payload, out));
  op->replaceAllUsesWith(windows);
  op.erase();
}

static void decompose(CollectOp op) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  builder.requireTokens(op.getIds());
  builder.requireRows(op.getOuts(), "outs", op.getIds(), "ids");
  builder.requireRows(op.getSlots(), "slots", op.getInput(), "input");
  Value rows = builder.findRows(op.getSlots(), ids.getDimSize(1));
  Value empty =
      builder.empty({builder.getRows(), input.getDimSize(1)}, op.getWire());
  Value sums = builder.combine(op.getInput(), rows, empty, /*overwrite=*/true);
  Value received = builder.allToAll(sums);
  Value owners =
      builder.findOwners(builder.padIds(op.getIds()), op.getExperts());
  Value tokens = builder.findTokens(owners);
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.0));
  Value none = linalg::FillOp::create(builder, zero, op.getOuts()).getResult(0);
  op.replaceAllUsesWith(
      builder.combine(received, tokens, none, /*overwrite=*/false));
  op.erase();
}

/// Selects the received number for each token and choice.
static Value pick(GroupBuilder &builder, CollectPairsOp op, Value received) {
  Value owners = builder.findOwners(op.getIds(), op.getExperts());
  return builder.forEachElement(
      op.getOuts(), owners, [&](mx::ArithBuilder &body, ValueRange given) {
        Value zero = arith::ConstantOp::create(body, body.getF32FloatAttr(0.0));
        Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::sge,
                                             given[0], body.i32(0));
        Value owner =
            arith::IndexCastOp::create(body, body.getIndexType(), given[0]);
        Value row = body.add(body.mul(owner, builder.getTokens()),
                             linalg::IndexOp::create(body, 0));
        Value number = tensor::ExtractOp::create(
            body, received, ValueRange{row, linalg::IndexOp::create(body, 1)});
        return body.select(exists, number, zero);
      });
}

static void decompose(CollectPairsOp op) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  int64_t choices = cast<ShapedType>(op.getIds().getType()).getDimSize(1);
  Type f32 = builder.getF32Type();
  builder.requireTokens(op.getIds());
  builder.requireRows(op.getOuts(), "outs", op.getIds(), "ids");
  builder.requireRows(op.getSlots(), "slots", op.getInput(), "input");
  // A pair is a row of a single number, stored at its slot.
  SmallVector<ReassociationIndices> together = {{0, 1}};
  SmallVector<OpFoldResult> sizes = {
      tensor::getMixedSize(builder, op.getLoc(), op.getInput(), 0),
      builder.getIndexAttr(1)};
  int64_t count = cast<ShapedType>(op.getInput().getType()).getDimSize(0);
  Value input = tensor::ExpandShapeOp::create(
      builder, RankedTensorType::get({count, 1}, f32), op.getInput(), together,
      sizes);
  int64_t pairs = builder.getRows() * choices;
  Value placed =
      builder.combine(input, op.getSlots(), builder.empty({pairs, 1}, f32),
                      /*overwrite=*/true);
  Value list = tensor::CollapseShapeOp::create(
      builder, RankedTensorType::get({pairs}, f32), placed, together);
  Value matrix = tensor::ExpandShapeOp::create(
      builder, RankedTensorType::get({builder.getRows(), choices}, f32), list,
      together);
  op.replaceAllUsesWith(pick(builder, op, builder.allToAll(matrix)));
  op.erase();
}

namespace {

struct DecomposeGroupsPass final
    : mx::impl::MXDecomposeGroupsBase<DecomposeGroupsPass> {
  void runOnOperation() override {
    if (failed(verifyCollectives(getOperation())))
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      if (auto dispatch = dyn_cast<DispatchOp>(op))
        decompose(dispatch);
      else if (auto collect = dyn_cast<CollectOp>(op))
        decompose(collect);
      else if (auto pairs = dyn_cast<CollectPairsOp>(op))
        decompose(pairs);
    });
  }
};

} // namespace
