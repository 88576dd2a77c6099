//===- MXGPUSyntax.cpp - Syntax of mxgpu operations -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

/// Names a stage after its ring, and a view after its buffer.
static void setStageNames(Value ring, Value stage, ValueRange buffers,
                          OpAsmSetValueNameFn setName) {
  auto op = ring.getDefiningOp<RingOp>();
  setName(stage, op ? (op.getName() + "_stage").str() : "stage");
  for (auto [buffer, name] :
       llvm::zip(buffers, cast<RingType>(ring.getType()).getNames()))
    setName(buffer, name);
}

void ProducerAcquireOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setStageNames(getRing(), getStage(), getBuffers(), setName);
}

void ConsumerWaitOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setStageNames(getRing(), getStage(), getBuffers(), setName);
}

StringRef mx::mxgpu::getBufferName(Value buffer) {
  auto result = dyn_cast<OpResult>(buffer);
  if (!result || !isa<ProducerAcquireOp, ConsumerWaitOp>(result.getOwner()))
    return {};
  auto ring = cast<RingType>(result.getOwner()->getOperand(0).getType());
  return ring.getNames()[result.getResultNumber() - 1];
}

void MmaOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getAccumulator())
    setName(getAccumulator(), "accumulator");
}

static void setArgumentNames(Region &region, ArrayRef<StringRef> names,
                             OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

void ForEachWorkTileOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  setArgumentNames(region, {"group", "row", "column", "start", "end"}, setName);
}

void ForEachKOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  setArgumentNames(region, {"k", "extent", "first"}, setName);
}

/// Names kernel arguments after their uses.
void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    for (OpOperand &use : argument.getUses()) {
      if (auto load = dyn_cast<TmaLoadOp>(use.getOwner()))
        setName(argument, (getBufferName(load.getBuffer()) + "_map").str());
      else if (isa<LoadBlockOp>(use.getOwner()))
        setName(argument, "input");
      else if (isa<StoreFragmentOp, LoadRelaxedOp, AtomicMaxOp>(use.getOwner()))
        setName(argument, "result");
      else if (auto store = dyn_cast<StoreBlockOp>(use.getOwner()))
        setName(argument, store.getValue().getDefiningOp<DequantizeBlockOp>()
                              ? "result"
                              : "elements");
      else if (isa<LoadScaleOp, StoreScalesOp>(use.getOwner()))
        setName(argument, "scales");
      else if (isa<TileSchedulerOp>(use.getOwner()) &&
               use.getOperandNumber() == 2)
        setName(argument, "reduction");
      else
        continue;
      break;
    }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  auto parseSchedule = [&](auto schedule, StringAttr name) -> ParseResult {
    return failure(parser.parseLParen() ||
                   parser.parseCustomAttributeWithFallback(
                       schedule, Type(), name.getValue(), result.attributes) ||
                   parser.parseRParen());
  };
  if (succeeded(parser.parseOptionalKeyword("schedule")) &&
      parseSchedule(ScheduleAttr(), getScheduleAttrName(result.name)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("quantize_schedule")) &&
      parseSchedule(QuantizeScheduleAttr(),
                    getQuantizeScheduleAttrName(result.name)))
    return failure();
  IntegerAttr size;
  for (auto [keyword, name] :
       {std::pair("cluster", getClusterAttrName(result.name)),
        std::pair("cluster_splits", getClusterSplitsAttrName(result.name)),
        std::pair("min_ctas", getMinCtasAttrName(result.name))})
    if (succeeded(parser.parseOptionalKeyword(keyword)) &&
        (parser.parseLParen() ||
         parser.parseAttribute(size, parser.getBuilder().getI64Type(),
                               name.getValue(), result.attributes) ||
         parser.parseRParen()))
      return failure();
  ArrayAttr joined;
  if (succeeded(parser.parseOptionalKeyword("joined")) &&
      parser.parseAttribute(joined, getJoinedAttrName(result.name),
                            result.attributes))
    return failure();
  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(parser.getBuilder().getFunctionType(
                          types, /*results=*/{})));
  Region &body = *result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(body, arguments))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  if (ScheduleAttr schedule = getScheduleAttr()) {
    printer << " schedule(";
    printer.printStrippedAttrOrType(schedule);
    printer << ')';
  }
  if (QuantizeScheduleAttr schedule = getQuantizeScheduleAttr()) {
    printer << " quantize_schedule(";
    printer.printStrippedAttrOrType(schedule);
    printer << ')';
  }
  if (getCluster() != 1)
    printer << " cluster(" << getCluster() << ')';
  if (getClusterSplits() != 1)
    printer << " cluster_splits(" << getClusterSplits() << ')';
  if (getMinCtas())
    printer << " min_ctas(" << *getMinCtas() << ')';
  if (getJoinedAttr())
    printer << " joined " << getJoinedAttr();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getScheduleAttrName(),
       getQuantizeScheduleAttrName(), getClusterAttrName(),
       getClusterSplitsAttrName(), getMinCtasAttrName(), getJoinedAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Parses `(` names `)` with the types at the same positions.
static ParseResult
parseBodyArguments(OpAsmParser &parser, ArrayRef<Type> types,
                   SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != types.size())
    return parser.emitError(loc, "expected ")
           << types.size() << " arguments, found " << arguments.size();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return success();
}

static void printBodyArguments(OpAsmPrinter &printer, Region &body) {
  printer << " (";
  llvm::interleaveComma(body.getArguments(), printer);
  printer << ')';
}

ParseResult ForEachWorkTileOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  OpAsmParser::UnresolvedOperand work;
  SmallVector<Type> types(5, parser.getBuilder().getIndexType());
  return failure(
      parseBodyArguments(parser, types, arguments) ||
      parser.parseKeyword("in") || parser.parseOperand(work) ||
      parser.resolveOperand(work, TileSchedulerType::get(parser.getContext()),
                            result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes));
}

void ForEachWorkTileOp::print(OpAsmPrinter &printer) {
  printBodyArguments(printer, getBody());
  printer << " in " << getWork() << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

ParseResult ForEachKOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments, iterArgs;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  OpAsmParser::UnresolvedOperand start, end;
  IntegerAttr step;
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  if (parseBodyArguments(parser, {index, index, builder.getI1Type()},
                         arguments) ||
      parser.parseKeyword("from") || parser.parseOperand(start) ||
      parser.parseKeyword("to") || parser.parseOperand(end) ||
      parser.parseKeyword("step") ||
      parser.parseAttribute(step, builder.getI64Type(),
                            getStepAttrName(result.name), result.attributes) ||
      parser.resolveOperands({start, end}, index, result.operands))
    return failure();
  auto parseIterArg = [&] {
    return failure(parser.parseArgument(iterArgs.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()) ||
                   parser.parseColonType(iterArgs.back().type) ||
                   parser.resolveOperand(inits.back(), iterArgs.back().type,
                                         result.operands) ||
                   parser.addTypeToList(iterArgs.back().type, result.types));
  };
  if (succeeded(parser.parseOptionalKeyword("iter_args")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseIterArg))
    return failure();
  llvm::append_range(arguments, iterArgs);
  Region &body = *result.addRegion();
  if (parser.parseRegion(body, arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(body, builder, result.location);
  return success();
}

void ForEachKOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments().take_front(3), printer);
  printer << ") from " << getStart() << " to " << getEnd() << " step "
          << getStep() << ' ';
  if (!getInits().empty()) {
    printer << "iter_args(";
    llvm::interleaveComma(llvm::zip_equal(getRegionIterArgs(), getInits()),
                          printer, [&](auto pair) {
                            printer << std::get<0>(pair) << " = "
                                    << std::get<1>(pair) << " : "
                                    << std::get<1>(pair).getType();
                          });
    printer << ") ";
  }
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
  SmallVector<StringRef> elided = {getStepAttrName()};
  if (getUnroll() == 1)
    elided.push_back(getUnrollAttrName());
  printer.printOptionalAttrDict((*this)->getAttrs(), elided);
}
