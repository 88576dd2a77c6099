//===- DecomposeGroups.cpp - Decomposition of rank-group operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mx.dispatch and mx.collect describe the rows that a rank needs. The pass
// replaces them by local sums of rows and by collectives on whole windows.
// Windows without use are not sent. An all-gather copies every row to every
// rank. An all-to-all sends each rank's partial sums to the rank that owns the
// token. Ranks ignore the rows that they do not need. In a rank group with
// slots, an all-to-all sends a token to the ranks of its experts only, in both
// directions.
//===----------------------------------------------------------------------===//

#include "CollectParts.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/Shared/ArithBuilder.h"
#include "mx/Dialect/Shared/ElementBits.h"

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
  /// Returns true if only rows that a rank needs are sent to the rank.
  bool hasSlots() const { return bool(RankGroupOp(group).getSlots()); }
  int64_t getRows() const { return RankGroupOp(group).getRows(); }
  int64_t getRowsOfRank() const { return RankGroupOp(group).getRowsOfRank(); }
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
  Value allToAll(Value input, Value outs = {}) {
    return AllToAllOp::create(*this, input.getType(), name, input,
                              outs ? outs : window(input.getType()))
        .getResult(0);
  }
  Value fill(Value out, int64_t number) {
    Type element = getElementTypeOrSelf(out.getType());
    TypedAttr value = isa<FloatType>(element)
                          ? TypedAttr(getFloatAttr(element, double(number)))
                          : TypedAttr(getIntegerAttr(element, number));
    return linalg::FillOp::create(
               *this, arith::ConstantOp::create(*this, value).getResult(), out)
        .getResult(0);
  }
  /// Copies the rows of an array that this rank sends to each slot.
  Value gather(Value array, Value tokens, Value outs) {
    return GatherRowsOp::create(*this, outs.getType(), array, tokens, outs)
        .getResult(0);
  }
  /// Adds rows in a fixed order, as `mx.combine` does.
  Value combine(Value input, Value rows, Value outs, bool overwrite) {
    return CombineOp::create(*this, outs.getType(), input, rows,
                             /*offsets=*/Value(), outs, AdditionOrder::Fixed,
                             overwrite)
        .getResult(0);
  }

  /// Returns columns [begin, end) of an array.
  Value cut(Value array, int64_t begin, int64_t end);
  /// Replaces the columns returned by `cut`.
  Value paste(Value columns, Value cut);

  /// Lets the quantizer of `array` store in this rank's rows of the window.
  /// Returns the window, or null for other uses and for unaligned rows.
  Value computeInWindow(Value array, Value window);

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

  /// Tokens that this rank sends, by destination.
  struct Slots {
    Value tokens; ///< token of each row of an all-to-all, or -1
    Value ends;   ///< end of each rank's tokens in a list without gaps
  };
  Slots assignSlots(Value ids, int64_t experts);
  Value dropRepeated(Value owners);
  Value countSlots(Value ends, Value out);

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

Value GroupBuilder::computeInWindow(Value array, Value window) {
  constexpr int64_t kAlignBits = 1024;
  auto quantize = array.getDefiningOp<FusedQuantizeOp>();
  auto memory = window.getDefiningOp<WindowOp>();
  auto type = cast<RankedTensorType>(array.getType());
  int64_t bits = cast<ShapedType>(window.getType()).getNumElements() /
                 int64_t(RankGroupOp(group).getSize()) * getMemoryBits(type);
  if (!quantize || quantize->getBlock() != getInsertionBlock() || !memory ||
      memory->getBlock() != getInsertionBlock() || !window.hasOneUse() ||
      bits % kAlignBits ||
      !llvm::all_of(array.getUsers(), llvm::IsaPred<DispatchOp, tensor::DimOp>))
    return {};
  OpOperand *out = quantize.getTiedOpOperand(cast<OpResult>(array));
  if (!out->get().getDefiningOp<tensor::EmptyOp>())
    return {};
  memory->moveBefore(quantize);
  GroupBuilder before(quantize, group, name);
  before.requireTokens(out->get());
  SmallVector<OpFoldResult> offsets(type.getRank(), getIndexAttr(0)),
      steps(type.getRank(), getIndexAttr(1)),
      sizes = tensor::getMixedSizes(before, getLoc(), out->get());
  Value rank = RankOp::create(before, getIndexType(), name);
  offsets[0] = before.mul(rank, getTokens());
  out->set(tensor::ExtractSliceOp::create(before, type, window, offsets, sizes,
                                          steps));
  return tensor::InsertSliceOp::create(*this, array, window, offsets, sizes,
                                       steps);
}

Value GroupBuilder::cut(Value array, int64_t begin, int64_t end) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(*this, getLoc(), array);
  if (isConstantIntValue(sizes[1], end - begin))
    return array;
  sizes[1] = getIndexAttr(end - begin);
  SmallVector<OpFoldResult> offsets = {getIndexAttr(0), getIndexAttr(begin)};
  SmallVector<OpFoldResult> steps(2, getIndexAttr(1));
  return tensor::ExtractSliceOp::create(*this, array, offsets, sizes, steps);
}

Value GroupBuilder::paste(Value columns, Value cut) {
  auto slice = cut.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice)
    return columns;
  return tensor::InsertSliceOp::create(
      *this, columns, slice.getSource(), slice.getMixedOffsets(),
      slice.getMixedSizes(), slice.getMixedStrides());
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
// Slots
//===----------------------------------------------------------------------===//

/// Replaces an owner by -1 if an earlier choice of the token has the same.
Value GroupBuilder::dropRepeated(Value owners) {
  auto type = cast<RankedTensorType>(owners.getType());
  Value out = tensor::EmptyOp::create(
      *this, tensor::getMixedSizes(*this, getLoc(), owners), getI32Type());
  return forEachElement(
      out, owners, [&](mx::ArithBuilder &body, ValueRange given) {
        Value token = linalg::IndexOp::create(body, 0);
        Value choice = linalg::IndexOp::create(body, 1);
        Value owner = given[0], none = body.i32(-1);
        for (int64_t other = 0; other + 1 < type.getDimSize(1); ++other) {
          Value at = body.index(other);
          Value earlier =
              tensor::ExtractOp::create(body, owners, ValueRange{token, at});
          Value isRepeated = body.both(body.isEqual(earlier, given[0]),
                                       body.isBelow(at, choice));
          owner = body.select(isRepeated, none, owner);
        }
        return owner;
      });
}

/// Returns the place at which a rank's tokens begin.
static Value loadBegin(mx::ArithBuilder &body, Value ends, Value rank) {
  Value zero = body.index(0), isFirst = body.isEqual(rank, zero);
  Value before = body.select(isFirst, zero, body.sub(rank, 1));
  return body.select(isFirst, body.i32(0),
                     tensor::ExtractOp::create(body, ends, before));
}

/// Sorts the tokens by the ranks that own their experts.
GroupBuilder::Slots GroupBuilder::assignSlots(Value ids, int64_t experts) {
  Value owners = dropRepeated(findOwners(ids, experts));
  auto type = cast<RankedTensorType>(ids.getType());
  int64_t ranks = RankGroupOp(group).getSize();
  int64_t most = std::min(type.getDimSize(1), ranks);
  // An entry more than the tokens need, so that the list is not empty.
  OpFoldResult size;
  if (type.isDynamicDim(0))
    size = add(mul(tensor::DimOp::create(*this, ids, 0), most), 1);
  else
    size = getIndexAttr(type.getDimSize(0) * most + 1);
  SmallVector<Value> outs;
  for (int i = 0; i < 2; ++i)
    outs.push_back(
        tensor::EmptyOp::create(*this, ArrayRef(size), getI32Type()));
  outs.push_back(empty({ranks}, getI32Type()));
  outs.push_back(empty({}, getI32Type()));
  auto sorted = GroupRowsOp::create(*this, ValueRange(outs).getTypes(), owners,
                                    /*first=*/Value(), outs);
  Value list = sorted.getResult(0), ends = sorted.getResult(2);
  Value tokens = forEachElement(
      empty({getRows()}, getI32Type()), {},
      [&](mx::ArithBuilder &body, ValueRange) {
        auto load = [&](Value list, Value place) -> Value {
          return tensor::ExtractOp::create(body, list, place);
        };
        Value row = linalg::IndexOp::create(body, 0);
        Value rank = body.div(row, getRowsOfRank());
        Value slot = arith::IndexCastOp::create(body, body.getI32Type(),
                                                body.rem(row, getRowsOfRank()));
        Value place = body.add(loadBegin(body, ends, rank), slot);
        Value exists = body.isBelow(place, load(ends, rank));
        Value at = arith::IndexCastOp::create(
            body, body.getIndexType(), body.select(exists, place, body.i32(0)));
        return body.select(exists, load(list, at), body.i32(-1));
      });
  return {tokens, ends};
}

/// Returns the largest number of tokens that this rank sends to a rank.
Value GroupBuilder::countSlots(Value ends, Value out) {
  AffineExpr d0 = getAffineDimExpr(0);
  AffineMap whole = AffineMap::get(1, 0, d0),
            none = AffineMap::get(1, 0, getContext());
  return linalg::GenericOp::create(
             *this, out.getType(), ends, fill(out, 0),
             ArrayRef<AffineMap>{whole, none},
             ArrayRef(utils::IteratorType::reduction),
             [&](OpBuilder &nested, Location loc, ValueRange given) {
               mx::ArithBuilder body(loc, nested);
               Value rank = linalg::IndexOp::create(body, 0);
               Value count = body.sub(given[0], loadBegin(body, ends, rank));
               linalg::YieldOp::create(
                   body,
                   arith::MaxSIOp::create(body, given[1], count).getResult());
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Returns the indices of arrays with equally many rows, the smallest first:
/// rows are sorted by expert while the large arrays are sent.
static SmallVector<size_t> sortByBytes(ArrayRef<Value> arrays) {
  auto order = llvm::to_vector(llvm::seq(arrays.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    auto bits = [&](size_t i) {
      auto type = cast<RankedTensorType>(arrays[i].getType());
      int64_t count = getElementBits(type);
      for (int64_t extent : type.getShape().drop_front())
        count *= extent;
      return count;
    };
    return bits(a) < bits(b);
  });
  return order;
}

/// Sends each token to the slots of the ranks of its experts.
static SmallVector<Value> sendToSlots(GroupBuilder &builder, DispatchOp op) {
  builder.requireTokens(op.getIds());
  auto slots = builder.assignSlots(op.getIds(), op.getExperts());
  SmallVector<Value> arrays = {op.getIds()};
  llvm::append_range(arrays, op.getPayloads());
  SmallVector<Value> results(op.getOuts().take_front(arrays.size()));
  for (size_t i : sortByBytes(arrays)) {
    if (op->getResult(i).use_empty())
      continue;
    Value window = op.getOuts()[i];
    auto type = cast<RankedTensorType>(window.getType());
    Value sent = builder.empty(type.getShape(), type.getElementType());
    if (i == 0)
      sent = builder.fill(sent, -1);
    results[i] =
        builder.allToAll(builder.gather(arrays[i], slots.tokens, sent), window);
  }
  if (op.getOuts().size() > arrays.size())
    results.push_back(builder.countSlots(slots.ends, op.getOuts().back()));
  return results;
}

static void decompose(DispatchOp op, bool inWindows) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  for (auto [i, payload] : llvm::enumerate(op.getPayloads()))
    builder.requireRows(payload, "payload " + std::to_string(i), op.getIds(),
                        "ids");
  if (builder.hasSlots()) {
    op->replaceAllUsesWith(sendToSlots(builder, op));
    op.erase();
    return;
  }
  SmallVector<Value> arrays = {builder.padIds(op.getIds())};
  llvm::append_range(arrays, op.getPayloads());
  SmallVector<Value> windows(op.getOuts().take_front(arrays.size()));
  for (size_t i : sortByBytes(arrays)) {
    if (op->getResult(i).use_empty())
      continue;
    Value own;
    if (inWindows)
      own = builder.computeInWindow(arrays[i], windows[i]);
    windows[i] =
        builder.allGather(own ? Value() : arrays[i], own ? own : windows[i]);
  }
  if (op.getOuts().size() > windows.size())
    windows.push_back(builder.fill(op.getOuts().back(), 0));
  op->replaceAllUsesWith(windows);
  op.erase();
}

/// Returns the first operation of the block that needs the results of `op`.
static Operation *findFirstUser(Operation *op) {
  Operation *first = op->getBlock()->getTerminator();
  for (Operation *user : op->getUsers())
    if (Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
        here && here->isBeforeInBlock(first))
      first = here;
  return first;
}

/// Exchanges the sums of part after part. A part is sent before the matmul
/// computes the next part. The final sums need the exchanged sums, so they
/// follow at the end.
static void decompose(CollectOp op, const target::TargetInfo *target) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  GroupedMatmulOp matmul = findSplittable(op);
  if (!matmul && op.getParts().value_or(1) > 1)
    emitRemark(op.getLoc(), "parts = ")
        << *op.getParts()
        << " has no effect: expected as input the result of an "
           "mx.grouped_matmul ragged = rows that nothing else uses, with num_b "
           "= 1 and without 'where' and 'columns'";
  SmallVector<int64_t> ends = getPartEnds(op, matmul, target);
  bool isSplit = ends.size() > 1;
  Value all = isSplit ? matmul.getOuts()[0] : op.getInput();
  builder.requireTokens(op.getIds());
  builder.requireRows(op.getOuts(), "outs", op.getIds(), "ids");
  builder.requireRows(op.getSlots(), "slots", all, "input");
  Value rows = builder.findRows(op.getSlots(), ids.getDimSize(1));
  SmallVector<Value> received;
  int64_t begin = 0;
  for (int64_t end : ends) {
    if (isSplit) {
      auto part = cast<GroupedMatmulOp>(builder.clone(*matmul));
      part.getOutsMutable().assign(all);
      part.setColumns(ArrayRef{begin, end});
      all = part.getResult();
    }
    Value memory =
        builder.empty({builder.getRows(), end - begin}, op.getWire());
    // CSE would merge the memory of two parts, one of which is being sent.
    if (isSplit)
      memory = bufferization::AllocTensorOp::create(
          builder, cast<RankedTensorType>(memory.getType()), ValueRange());
    Value sums = builder.combine(builder.cut(all, begin, end), rows, memory,
                                 /*overwrite=*/true);
    received.push_back(builder.allToAll(sums));
    begin = end;
  }
  Value tokens = builder.hasSlots()
                     ? builder.assignSlots(op.getIds(), op.getExperts()).tokens
                     : builder.findTokens(builder.findOwners(
                           builder.padIds(op.getIds()), op.getExperts()));
  // Operations between the two run beside the exchange.
  builder.setInsertionPoint(findFirstUser(op));
  Value result = builder.fill(op.getOuts(), 0);
  begin = 0;
  for (auto [sums, end] : llvm::zip_equal(received, ends)) {
    Value part = builder.cut(result, begin, end);
    result = builder.paste(
        builder.combine(sums, tokens, part, /*overwrite=*/false), part);
    begin = end;
  }
  op.replaceAllUsesWith(result);
  op.erase();
  if (!isSplit)
    return;
  matmul.getResult().replaceAllUsesWith(matmul.getOuts()[0]);
  matmul.erase();
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

/// Returns the numbers of a list or a matrix as a column.
static Value toColumn(GroupBuilder &builder, Value array) {
  SmallVector<ReassociationIndices> together = {{0, 1}};
  auto type = cast<RankedTensorType>(array.getType());
  if (type.getRank() == 2)
    array = tensor::CollapseShapeOp::create(builder, array, together);
  type = cast<RankedTensorType>(array.getType());
  SmallVector<OpFoldResult> sizes = {
      tensor::getMixedSize(builder, builder.getLoc(), array, 0),
      builder.getIndexAttr(1)};
  return tensor::ExpandShapeOp::create(
      builder,
      RankedTensorType::get({type.getDimSize(0), 1}, type.getElementType()),
      array, together, sizes);
}

/// Stores the number of each received pair at the pair.
static Value placePairs(GroupBuilder &builder, CollectPairsOp op,
                        Value received) {
  auto slots = builder.assignSlots(op.getIds(), op.getExperts());
  Value owners = builder.findOwners(op.getIds(), op.getExperts());
  auto type = cast<RankedTensorType>(received.getType());
  int64_t choices = type.getDimSize(1);
  Value out = builder.empty(type.getShape(), builder.getI32Type());
  Value pairs = builder.forEachElement(
      out, {}, [&](mx::ArithBuilder &body, ValueRange) -> Value {
        Value row = linalg::IndexOp::create(body, 0);
        Value choice = linalg::IndexOp::create(body, 1);
        Value token = tensor::ExtractOp::create(body, slots.tokens, row);
        Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::sge,
                                             token, body.i32(0));
        auto found = scf::IfOp::create(body, body.getI32Type(), exists,
                                       /*withElse=*/true);
        OpBuilder::InsertionGuard guard(body);
        body.setInsertionPointToStart(found.thenBlock());
        Value at = arith::IndexCastOp::create(body, body.getIndexType(), token);
        Value owner =
            tensor::ExtractOp::create(body, owners, ValueRange{at, choice});
        Value rank = arith::IndexCastOp::create(
            body, body.getI32Type(), body.div(row, builder.getRowsOfRank()));
        Value pair = arith::IndexCastOp::create(
            body, body.getI32Type(), body.add(body.mul(at, choices), choice));
        scf::YieldOp::create(body,
                             ValueRange(body.select(body.isEqual(owner, rank),
                                                    pair, body.i32(-1))));
        body.setInsertionPointToStart(found.elseBlock());
        scf::YieldOp::create(body, ValueRange(body.i32(-1)));
        return found.getResult(0);
      });
  SmallVector<ReassociationIndices> together = {{0, 1}};
  Value list = tensor::CollapseShapeOp::create(builder, pairs, together);
  Value zeros = toColumn(builder, builder.fill(op.getOuts(), 0));
  Value placed = builder.combine(toColumn(builder, received), list, zeros,
                                 /*overwrite=*/true);
  Value flat = tensor::CollapseShapeOp::create(builder, placed, together);
  return tensor::ExpandShapeOp::create(
      builder, cast<RankedTensorType>(op.getOuts().getType()), flat, together,
      tensor::getMixedSizes(builder, builder.getLoc(), op.getOuts()));
}

static void decompose(CollectPairsOp op) {
  GroupBuilder builder(op, op.getGroupOp(), op.getGroupAttr());
  int64_t choices = cast<ShapedType>(op.getIds().getType()).getDimSize(1);
  builder.requireTokens(op.getIds());
  builder.requireRows(op.getOuts(), "outs", op.getIds(), "ids");
  builder.requireRows(op.getSlots(), "slots", op.getInput(), "input");
  // A pair is a row of a single number, stored at its slot.
  SmallVector<ReassociationIndices> together = {{0, 1}};
  int64_t pairs = builder.getRows() * choices;
  Value placed = builder.combine(
      toColumn(builder, op.getInput()), op.getSlots(),
      builder.empty({pairs, 1}, builder.getF32Type()), /*overwrite=*/true);
  Value list = tensor::CollapseShapeOp::create(builder, placed, together);
  Value matrix = tensor::ExpandShapeOp::create(
      builder,
      RankedTensorType::get({builder.getRows(), choices}, builder.getF32Type()),
      list, together);
  Value received = builder.allToAll(matrix);
  builder.setInsertionPoint(findFirstUser(op));
  op.replaceAllUsesWith(builder.hasSlots() ? placePairs(builder, op, received)
                                           : pick(builder, op, received));
  op.erase();
}

namespace {

struct DecomposeGroupsPass final
    : mx::impl::MXDecomposeGroupsBase<DecomposeGroupsPass> {
  using MXDecomposeGroupsBase::MXDecomposeGroupsBase;

  void runOnOperation() override {
    if (failed(verifyCollectives(getOperation())))
      return signalPassFailure();
    const target::TargetInfo *target = target::lookupTarget(chip);
    getOperation().walk([&](Operation *op) {
      if (auto dispatch = dyn_cast<DispatchOp>(op))
        decompose(dispatch, inWindows);
      else if (auto collect = dyn_cast<CollectOp>(op))
        decompose(collect, target);
      else if (auto pairs = dyn_cast<CollectPairsOp>(op))
        decompose(pairs);
    });
  }
};

} // namespace
