//===- RankGroups.cpp - Collectives of the reference path -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window is host memory. Collectives call C functions of the embedding
// process with the index of the rank group in the module (Collectives.h). A
// rank group with a single rank needs no calls.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Conversion/MXToCPU/Collectives.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

class RankGroup {
public:
  RankGroup(Operation *op, FlatSymbolRefAttr name)
      : module(op->getParentOfType<ModuleOp>()),
        group(module.lookupSymbol<RankGroupOp>(name)) {}

  bool isAlone() const { return RankGroupOp(group).getSize() == 1; }
  int64_t getRows() const { return RankGroupOp(group).getRowsOfRank(); }
  StringRef getName() const { return RankGroupOp(group).getSymName(); }

  /// Calls a function of the embedding process. The arguments are the index of
  /// the rank group and `rest`, which contains sizes and addresses.
  Value call(OpBuilder &builder, Location loc, StringRef function,
             ArrayRef<Value> rest, bool hasResult) {
    int64_t number = 0;
    for (auto other : ModuleOp(module).getOps<RankGroupOp>()) {
      if (other == group)
        break;
      ++number;
    }
    SmallVector<Value> operands = {
        arith::ConstantIndexOp::create(builder, loc, number)};
    llvm::append_range(operands, rest);
    SmallVector<Type> types(hasResult ? 1 : 0, builder.getIndexType());
    declare(builder, loc, function,
            builder.getFunctionType(ValueRange(operands).getTypes(), types));
    auto call = func::CallOp::create(builder, loc, function, types, operands);
    return hasResult ? call.getResult(0) : Value();
  }

private:
  void declare(OpBuilder &builder, Location loc, StringRef name,
               FunctionType type) {
    if (module.lookupSymbol(name))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    func::FuncOp::create(builder, loc, name, type).setPrivate();
  }

  ModuleOp module;
  RankGroupOp group;
};

} // namespace

static Value getAddress(OpBuilder &builder, Location loc, Value memref) {
  return memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
}

/// Returns the number of bytes of a rank's rows in `window`.
static Value getRankBytes(Emitter &emitter, const RankGroup &group,
                          Value window) {
  auto type = cast<MemRefType>(window.getType());
  int64_t bits = getMemoryBits(type);
  for (int64_t extent : type.getShape().drop_front())
    bits *= extent;
  return emitter.index(bits / 8 * group.getRows());
}

static LogicalResult lowerWindow(WindowOp op, WindowOp::Adaptor,
                                 ConversionPatternRewriter &rewriter,
                                 const TypeConverter &converter) {
  auto type =
      dyn_cast_if_present<MemRefType>(converter.convertType(op.getType()));
  if (!type)
    return rewriter.notifyMatchFailure(op, "expected a memref");
  rewriter.replaceOpWithNewOp<memref::AllocOp>(op, type);
  return success();
}

static LogicalResult lowerRank(RankOp op, RankOp::Adaptor,
                               ConversionPatternRewriter &rewriter) {
  RankGroup group(op, op.getGroupAttr());
  if (group.isAlone())
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 0);
  else
    rewriter.replaceOp(op, group.call(rewriter, op.getLoc(), kRankFunction, {},
                                      /*hasResult=*/true));
  return success();
}

static void lowerAllGather(Emitter &emitter, AllGatherOp op,
                           AllGatherOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = op.getLoc();
  RankGroup group(op, op.getGroupAttr());
  Value window = adaptor.getOuts()[0], input = adaptor.getInput();
  Int first = emitter.index(0);
  if (!group.isAlone() && input)
    first = emitter.wrap(group.call(builder, loc, kRankFunction, {},
                                    /*hasResult=*/true)) *
            group.getRows();
  if (input) {
    Int rows = emitter.dim(input, 0);
    emitter.check(rows <= group.getRows(),
                  "at most " + Twine(group.getRows()) +
                      " tokens per rank of group " + group.getName() +
                      ", found %ld",
                  {rows});
    emitter.loopOverDims(input, cast<MemRefType>(input.getType()).getRank(),
                         [&](ArrayRef<Value> place) {
                           SmallVector<Value> to(place);
                           to[0] = emitter.wrap(place[0]) + first;
                           memref::StoreOp::create(builder, loc,
                                                   emitter.load(input, place),
                                                   window, to);
                         });
  }
  if (!group.isAlone())
    group.call(builder, loc, kAllGatherFunction,
               {getAddress(builder, loc, window),
                getRankBytes(emitter, group, window)},
               /*hasResult=*/false);
}

static void lowerAllToAll(Emitter &emitter, AllToAllOp op,
                          AllToAllOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = op.getLoc();
  RankGroup group(op, op.getGroupAttr());
  Value window = adaptor.getOuts()[0], input = adaptor.getInput();
  if (group.isAlone()) {
    memref::CopyOp::create(builder, loc, input, window);
    return;
  }
  group.call(builder, loc, kAllToAllFunction,
             {getAddress(builder, loc, input), getAddress(builder, loc, window),
              getRankBytes(emitter, group, window)},
             /*hasResult=*/false);
}

void mx::cpu::populateRankGroupPatterns(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  // Takes precedence over patterns that only convert storage types.
  addPatterns<lowerWindow, lowerRank, lowerAllGather, lowerAllToAll>(
      converter, patterns, 2);
}
