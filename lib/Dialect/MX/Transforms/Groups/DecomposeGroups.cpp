//===- DecomposeGroups.cpp - Ways between ranks as smaller steps ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mx.dispatch and the ways back say which rows a rank needs. Here that becomes
// sums of rows, which a rank computes alone, and collectives that move whole
// windows: an all-gather brings every row to every rank, an all-to-all a sum of
// each rank to the rank of its token. Rows that a rank does not need arrive
// too, and are not read.
//
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
// Where ranks meet
//===----------------------------------------------------------------------===//

static bool isCollective(Operation *op) {
  return isa<DispatchOp, CollectOp, CollectPairsOp, AllGatherOp, AllToAllOp>(
      op);
}

/// Whether each execution of the parent executes what is in it equally often on
/// all ranks.
static bool isSameOnAllRanks(Operation *parent) {
  if (isa<func::FuncOp, scf::ExecuteRegionOp>(parent))
    return true;
  auto loop = dyn_cast<scf::ForOp>(parent);
  return loop && getConstantIntValue(loop.getLowerBound()) &&
         getConstantIntValue(loop.getUpperBound()) &&
         getConstantIntValue(loop.getStep());
}

static LogicalResult verifyParents(Operation *op, StringRef what) {
  // Each run of a region runs its first block once, whatever branches follow.
  if (op->getBlock() != &op->getParentRegion()->front())
    return op->emitOpError("expected ")
           << what
           << " outside of branches, as all ranks must come to it equally "
              "often, found it in a block that branches lead to";
  for (Operation *parent = op->getParentOp(); !isa<ModuleOp>(parent);
       parent = parent->getParentOp())
    // groups C8
    if (!isSameOnAllRanks(parent))
      return op->emitOpError("expected ")
             << what
             << " outside of branches, and of loops whose rounds are not "
                "constant, as all ranks must come to it equally often, found "
                "it in "
             << parent->getName();
  return success();
}

/// Ranks that disagree about a branch would wait for each other for ever.
static LogicalResult verifyMeetings(ModuleOp module) {
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
                               "a call of a function with collectives")))
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

/// Builds what an operation of a group becomes.
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
  /// What the other ranks have for this one.
  Value allToAll(Value input) {
    return AllToAllOp::create(*this, input.getType(), name, input,
                              window(input.getType()))
        .getResult(0);
  }
  /// Rows that are added up in their order, as `mx.combine` does.
  Value combine(Value input, Value rows, Value outs, bool overwrite) {
    return CombineOp::create(*this, outs.getType(), input, rows,
                             /*offsets=*/Value(), outs, AdditionOrder::Fixed,
                             overwrite)
        .getResult(0);
  }

  /// Where no type says that the ids are of at most as many tokens as a rank
  /// may have, the call ends.
  void requireTokens(Value ids);
  /// The same of two arrays with as many rows.
  void requireRows(Value array, StringRef what, Value other,
                   StringRef otherWhat);
  /// A tensor in the place of `out`, each element computed by `emit` from those
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
                           " tokens of a rank of group " +
                           RankGroupOp(group).getSymName().str());
}

void GroupBuilder::requireRows(Value array, StringRef what, Value other,
                               StringRef otherWhat) {
  if (!ShapedType::isDynamic(getKnownRows(array)) &&
      !ShapedType::isDynamic(getKnownRows(other)))
    return; // the verifier has compared them
  Value same = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                                     tensor::DimOp::create(*this, array, 0),
                                     tensor::DimOp::create(*this, other, 0));
  cf::AssertOp::create(
      *this, same,
      ("expected as many rows of " + what + " as of " + otherWhat).str());
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

/// The ids of as many tokens as a rank may have: -1 for those it lacks. They
/// have more rows where there are too many tokens, which the all-gather
/// refuses.
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

/// The rank that has the expert of each id, or -1 where there is none: i32, of
/// the shape of the ids.
Value GroupBuilder::findOwners(Value ids, int64_t experts) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(*this, getLoc(), ids);
  Value out = tensor::EmptyOp::create(*this, sizes, getI32Type());
  int64_t own = getExpertsOfRank(experts);
  return forEachElement(
      out, ids, [&](mx::ArithBuilder &body, ValueRange given) {
        Value id = given[0];
        // As unsigned numbers, negative ones are beyond any expert.
        Value exists = body.isBelow(id, body.constantLike(id, experts));
        Value owner = body.div(id, own);
        Value rank = body.select(exists, owner, body.constantLike(id, -1));
        if (!id.getType().isInteger(32))
          rank = arith::TruncIOp::create(body, body.getI32Type(), rank);
        return rank;
      });
}

/// The row of the window of each slot; -1 remains.
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

/// The token that each row of an all-to-all belongs to, where its rank has an
/// expert of the token, else -1: of the owners of the ids of all tokens.
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

/// The numbers that have come back, at their tokens and choices.
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
  // A pair is a row of one number, which goes to the place of its slot.
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
    if (failed(verifyMeetings(getOperation())))
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
