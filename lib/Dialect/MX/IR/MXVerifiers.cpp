//===- MXVerifiers.cpp - Verifiers of the mx operations -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks constraints beyond types and traits. Comments such as "amax C1" cite
// constraints of docs/reference/Spec.md; test/Dialect/MX/IR/<op>-invalid.mlir
// tests them. Dynamic sizes are checked at run time.
//===----------------------------------------------------------------------===//

#include "MXChecks.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

//===----------------------------------------------------------------------===//
// Amax
//===----------------------------------------------------------------------===//

LogicalResult AmaxOp::verify() {
  Named input{getInput(), "input"};
  if (failed(verifyForm(*this)) ||            // amax C1
      failed(verifyOneOut(*this, getOuts()))) // amax C2
    return failure();
  return verifyNoEncoding(*this, input); // amax C3
}

//===----------------------------------------------------------------------===//
// Row classes
//===----------------------------------------------------------------------===//

LogicalResult RowClassesOp::verify() {
  if (failed(verifyForm(*this))) // row_classes C1
    return failure();
  size_t count = getSpreads().size();
  if (!count || getOuts().size() != count || getAxes().size() != count)
    return emitOpError("expected an operand or more, with an axis and a "
                       "destination each, found ") // row_classes C2
           << count << " operands, " << getAxes().size() << " axes and "
           << getOuts().size() << " destinations";
  if (getLimit() > 254) // row_classes C3
    return emitOpError("expected a limit of 0 to 254, found ")
           << static_cast<int64_t>(getLimit());
  for (auto [spreads, out, axis] :
       llvm::zip_equal(getSpreads(), getOuts(), getAxes())) {
    Named in{spreads, "spreads"}, bits{out, "outs"};
    if (failed(verifyMinRank(*this, in))) // row_classes C4
      return failure();
    if (axis != 0 && axis != 1) // row_classes C5
      return emitOpError("expected axes of 0 or 1, found ") << axis;
    SmallVector<int64_t> shape(in.shape().drop_back());
    shape.back() = getWordsOfRows(axis ? shape.back() : in.shape().back());
    if (failed(verifyShape(*this, bits, shape)) || // row_classes C6
        failed(verifyNoEncoding(*this, in)) ||
        failed(verifyNoEncoding(*this, bits)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyScalesOf(Op op, const Named &input,
                                    const Named &scales) {
  int64_t groups = op.getOffsets() ? getNumExperts(op.getOffsets()) : 0;
  return verifyScales(op, scales, input.type().getShape(), op.getBlockSize(),
                      op.getRaggedOrNone(), groups);
}

LogicalResult DequantizeOp::verify() {
  Named input{getInput(), "input"}, scales{getScales(), "scales"};
  if (failed(verifyForm(*this)) ||            // dequantize C1
      failed(verifyOneOut(*this, getOuts()))) // dequantize C2
    return failure();
  Named out{getOuts()[0], "outs"};
  if (failed(verifyMinRank(*this, input))) // dequantize C3
    return failure();
  // dequantize C4
  if (failed(verifyBlock(*this, input, scales.elementType(), getBlockSize())))
    return failure();
  if (getGlobalScale() && !getBlockFormat(scales.elementType(), getBlockSize())
                               .hasTensorFactor) // dequantize C5
    return emitOpError("expected scales of type f8E4M3FN with a global_scale, "
                       "found scales of type ")
           << scales.elementType();
  if (failed(verifyRagged(*this, getRagged(), getOffsets())) || // dequantize C6
      (getRagged() && failed(verifyRank(*this, input, 2))))     // dequantize C7
    return failure();
  RaggedKind ragged = getRaggedOrNone();
  int64_t groups = getOffsets() ? getNumExperts(getOffsets()) : 0;
  int64_t rank = input.rank();
  if (failed(verifyMultiple(*this, input, rank - 1,
                            ragged == RaggedKind::Reduction
                                ? kRaggedReductionAlign
                                : int64_t(getBlockSize())))) // dequantize C8
    return failure();
  if (failed(verifyRank(*this, out, rank))) // dequantize C9
    return failure();
  if (getPadded() && ragged != RaggedKind::Reduction) // dequantize C14
    return emitOpError("expected ragged = reduction with 'padded', found "
                       "ragged = ")
           << stringifyRaggedKind(ragged);
  SmallVector<int64_t> shape(out.type().getShape());
  if (ragged == RaggedKind::Reduction && !getPadded())
    shape.back() = getRaggedCapacity(shape.back(), groups);
  if (failed(verifyShape(*this, input, shape)))
    return failure();
  // dequantize C10
  // dequantize C11
  if (failed(verifyScalesOf(*this, input, scales)) ||
      // dequantize C12
      failed(verifyElementEncoding(*this, input, ragged, groups)))
    return failure();
  return verifyNoEncoding(*this, out); // dequantize C13
}

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

LogicalResult FoldOp::verify() {
  if (failed(verifyForm(*this))) // fold C1
    return failure();
  if (getOuts().size() != (getSpreads() ? 3 : 2)) // fold C2
    return emitOpError("expected elements")
           << (getSpreads() ? ", scales and spreads" : " and scales")
           << " in outs, found " << getOuts().size() << " outs";
  Named input{getInput(), "input"}, scales{getScales(), "scales"},
      elements{getOuts()[0], "elements"}, wide{getOuts()[1], "wider scales"};
  // fold C8
  for (const Named &side : {scales, wide})
    if (!isPowerOfTwoScale(side.elementType()))
      return errorAt(*this, side)
             << "expected " << side.name << " of type "
             << getPowerOfTwoFormat().getScaleType(getContext()) << ", found "
             << side.elementType();
  // fold C3
  const BlockFormat *format =
      findBlockFormat(scales.elementType(), getBlockSize());
  if (!format || !format->isFolded || format->blockRows > 1)
    return emitOpError("expected block_size 128, 256, 512 or row, found ")
           << spellBlockSize(getBlockSize());
  if (failed(verifyRagged(*this, getRagged(), getOffsets()))) // fold C4
    return failure();
  if (getRaggedOrNone() == RaggedKind::Reduction)
    return emitOpError("expected ragged = rows, found reduction");
  if (failed(verifyMinRank(*this, input)) || // fold C5
      (getRagged() && failed(verifyRank(*this, input, 2))))
    return failure();
  int64_t last = input.rank() - 1; // fold C6
  if (failed(verifyMultiple(*this, input, last, kPowerOfTwoBlockSize)) ||
      failed(verifyMultiple(*this, input, last, getBlockSize())) ||
      failed(verifyNoEncoding(*this, input))) // fold C7
    return failure();
  if (elements.type() != input.type())
    return errorAt(*this, elements)
           << "expected elements of type " << input.type()
           << " like the input, found " << elements.type();
  int64_t groups = getOffsets() ? getNumExperts(getOffsets()) : 0;
  if (failed(verifyScales(*this, scales, input.shape(),
                          BlockShape(kPowerOfTwoBlockSize), getRaggedOrNone(),
                          groups)))
    return failure();
  if (failed(verifyScales(*this, wide, input.shape(), getBlockSize(),
                          getRaggedOrNone(), groups)))
    return failure();
  if (!getSpreads())
    return success();
  return verifySpreads(*this, getOuts()[2], input.shape(), getBlockSize(),
                       /*axis=*/1); // fold C9
}

//===----------------------------------------------------------------------===//
// Relayout
//===----------------------------------------------------------------------===//

/// Rejects inputs and results of a relayout with an encoding other than a scale
/// layout.
static LogicalResult verifyRelayoutEncoding(RelayoutOp op, const Named &side) {
  auto tensor = dyn_cast<RankedTensorType>(side.type());
  if (tensor && tensor.getEncoding() &&
      !isa<ScaleLayoutAttr>(tensor.getEncoding()))
    return errorAt(op, side) << "expected " << side.name
                             << " with a #mx.scale_layout encoding, found "
                             << tensor.getEncoding();
  return success();
}

LogicalResult RelayoutOp::verify() {
  if (failed(verifyForm(*this)) ||            // relayout C1
      failed(verifyOneOut(*this, getOuts()))) // relayout C2
    return failure();
  Named in{getInput(), "input"}, out{getOuts()[0], "outs"};
  // relayout C3
  if (failed(verifyMinRank(*this, in)) || failed(verifyMinRank(*this, out)))
    return failure();
  if (in.elementType() != out.elementType()) // relayout C4
    return errorAt(*this, out)
           << "expected outs of type " << in.elementType()
           << " like the input, found " << out.elementType();
  if (failed(verifyRagged(*this, getRagged(), getOffsets()))) // relayout C5
    return failure();
  if (getRaggedOrNone() == RaggedKind::Reduction)
    return emitOpError("expected ragged = rows, found reduction");
  if (failed(verifyRelayoutEncoding(*this, in)) ||
      failed(verifyRelayoutEncoding(*this, out))) // relayout C6
    return failure();

  RaggedKind ragged = getRaggedOrNone(); // relayout C7
  int64_t groups = getOffsets() ? getNumExperts(getOffsets()) : 0;
  int64_t distance = out.rank() - in.rank();
  if (distance != 0 && std::abs(distance) != kScaleTileRank &&
      std::abs(distance) != 1)
    return errorAt(*this, out) << "expected outs of rank " << in.rank()
                               << ", or rank " << in.rank() + kScaleTileRank
                               << " if materialized, found rank " << out.rank();
  const Named &logical = distance < 0 ? out : in;
  const Named &other = distance < 0 ? in : out;
  if (failed(verifyScaleShape(*this, other, logical.type().getShape(), ragged,
                              groups)))
    return failure();

  auto inLayout = ScaleLayoutAttr::get(in.type()); // relayout C8
  auto outLayout = ScaleLayoutAttr::get(out.type());
  if (distance != 0) {
    ScaleLayoutAttr layout = distance < 0 ? outLayout : inLayout;
    if (layout.getKind() != ScaleLayoutKind::Linear)
      return errorAt(*this, logical)
             << "expected " << logical.name << " in the linear layout, because "
             << other.name << " is materialized, found " << layout;
    return verifyNoEncoding(*this, other);
  }
  bool inTiled = inLayout.getKind() == ScaleLayoutKind::Sf128x4;
  bool outTiled = outLayout.getKind() == ScaleLayoutKind::Sf128x4;
  if (ragged == RaggedKind::Rows) { // relayout C9
    if (inTiled == outTiled)
      return emitOpError("expected one linear and one sf_128x4 layout with "
                         "ragged = rows, found ")
             << inLayout << " and " << outLayout;
    return failed(verifyScaleLayout(*this, in, in.rank(), ragged, groups))
               ? failure()
               : verifyScaleLayout(*this, out, out.rank(), ragged, groups);
  }
  auto isNone = [](ScaleLayoutAttr layout) { // relayout C10
    return layout.getRagged() == RaggedKind::None;
  };
  bool sameExperts = inLayout.getRagged() == outLayout.getRagged() &&
                     inLayout.getGroups() == outLayout.getGroups();
  bool rowsNeedOffsets =
      inTiled != outTiled &&
      (inTiled ? inLayout : outLayout).getRagged() == RaggedKind::Rows;
  if (rowsNeedOffsets)
    return emitOpError("expected ragged = rows and offsets to convert ")
           << inLayout << " to " << outLayout << ", found neither";
  if (!sameExperts && !(!inTiled && isNone(inLayout)) &&
      !(!outTiled && isNone(outLayout)))
    return errorAt(*this, out) << "expected outs with the expert groups of "
                               << inLayout << ", found " << outLayout;
  return success();
}

//===----------------------------------------------------------------------===//
// PackOperand
//===----------------------------------------------------------------------===//

LogicalResult PackOperandOp::verify() {
  if (failed(verifyForm(*this)) ||            // pack_operand C1
      failed(verifyOneOut(*this, getOuts()))) // pack_operand C2
    return failure();
  Named input{getInput(), "input"}, out{getOuts()[0], "outs"};
  if (failed(verifyMinRank(*this, input))) // pack_operand C3
    return failure();
  OperandOrderAttrInterface order = getOutOrder();
  if (!order) // pack_operand C4
    return errorAt(*this, out)
           << "expected an order in the encoding of outs "
              "or in the attribute 'order', found outs of type "
           << out.type();
  // pack_operand C5
  if (isa<MemRefType>(input.type()) && getInput() == getOuts()[0])
    return emitOpError("expected different memrefs for the input and outs, "
                       "found the same memref");
  // pack_operand C6
  if (!getScales() && input.elementType() != out.elementType())
    return errorAt(*this, out)
           << "expected outs of type " << input.elementType()
           << " like the input, found " << out.elementType();
  if (getScales() &&
      !isa<Float32Type, BFloat16Type, Float16Type>(out.elementType()))
    return errorAt(*this, out) << "expected outs of type f32, bf16 or f16 if "
                                  "the input has scales, found "
                               << out.elementType();
  // pack_operand C7
  if (getOffsets() && (!getScales() || getRaggedOrNone() != RaggedKind::Rows))
    return emitOpError("expected offsets only with scales and ragged = rows: "
                       "leave out the offsets");
  if (failed(verifyRagged(*this, getRagged(), getOffsets())) ||
      (getRagged() && failed(verifyRank(*this, input, 2)))) // pack_operand C8
    return failure();
  if (getScales()) { // pack_operand C9
    Named scales{getScales(), "scales"};
    if (failed(
            verifyBlock(*this, input, scales.elementType(), getBlockSize())) ||
        failed(verifyScalesOf(*this, input, scales)))
      return failure();
  }
  if (failed(verifyNoEncoding(*this, input))) // pack_operand C10
    return failure();
  return verifyOrder(*this, out, order, input.shape()); // pack_operand C11
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

LogicalResult CombineOp::verify() {
  if (failed(verifyForm(*this)) ||            // combine C1
      failed(verifyOneOut(*this, getOuts()))) // combine C2
    return failure();
  Named input{getInput(), "input"}, rows{getRows(), "rows"};
  Named out{getOuts()[0], "outs"};
  // combine C3
  if (failed(verifyRank(*this, input, 2)) ||
      failed(verifyRank(*this, out, 2)) ||
      failed(verifyDim(*this, rows, 0, input.dim(0))) || // combine C4
      failed(verifyDim(*this, out, 1, input.dim(1))))
    return failure();
  if (getOffsets() && getNumExperts(getOffsets()) == 0) // combine C5
    return emitOpError("expected at least 1 expert group, found 0");
  if (failed(verifyNoEncoding(*this, input)) ||
      failed(verifyNoEncoding(*this, out))) // combine C6
    return failure();
  if (getOverwrite() && getOrder() != AdditionOrder::Fixed) // combine C7
    return emitOpError("expected order = fixed with 'overwrite'");
  if (getOrder() != AdditionOrder::Fixed && // combine C8
      !out.elementType().isF32())
    return errorAt(*this, out)
           << "expected outs of type f32 without order = fixed, found "
           << out.elementType();
  return success();
}

//===----------------------------------------------------------------------===//
// GatherRows and GroupRows
//===----------------------------------------------------------------------===//

LogicalResult GatherRowsOp::verify() {
  if (failed(verifyForm(*this)) || // gather_rows C1
      failed(verifyOneOut(*this, getOuts())))
    return failure();
  Named input{getInput(), "input"}, rows{getRows(), "rows"};
  Named out{getOuts()[0], "outs"};
  if (failed(verifyRank(*this, rows, 1))) // gather_rows C2
    return failure();
  if (input.rank() < 2) // gather_rows C3
    return errorAt(*this, input)
           << "expected input of rank 2 or more, found " << input.type();
  if (input.elementType() != out.elementType())
    return errorAt(*this, out)
           << "expected outs with the element type " << input.elementType()
           << " of input, found " << out.elementType();
  if (failed(verifyRank(*this, out, input.rank())) ||
      failed(verifyDim(*this, out, 0, rows.dim(0))))
    return failure();
  for (int64_t dim = 1; dim < input.rank(); ++dim) {
    if (ShapedType::isDynamic(input.dim(dim)))
      return errorAt(*this, input) << "expected rows of static size in input, "
                                      "found "
                                   << input.type();
    if (failed(verifyDim(*this, out, dim, input.dim(dim))))
      return failure();
  }
  Type element = input.elementType();
  if (!element.isIntOrIndexOrFloat() || // gather_rows C5
      getMemoryBits(element) * (input.shape().back() % 8) % 8)
    return errorAt(*this, input) << "expected numbers in input, with a last "
                                    "dimension of whole bytes, found "
                                 << input.type();
  for (const Named &operand : {input, rows, out}) // gather_rows C4
    if (failed(verifyNoEncoding(*this, operand)))
      return failure();
  return success();
}

LogicalResult GroupRowsOp::verify() {
  if (failed(verifyForm(*this))) // group_rows C1
    return failure();
  if (getOuts().size() != 4) // group_rows C2
    return emitOpError("expected 4 outs (rows, slots, ends, count), found ")
           << getOuts().size();
  Named ids{getIds(), "ids"}, rows{getRows(), "rows"};
  Named slots{getSlots(), "slots"}, ends{getEnds(), "ends"};
  Named count{getCount(), "count"};
  if (failed(verifyRank(*this, ids, 2))) // group_rows C3
    return failure();
  if (ShapedType::isDynamic(ids.dim(1)) || ids.dim(1) == 0)
    return errorAt(*this, ids)
           << "expected dimension 1 of ids, the number of choices, to be "
              "static and at least 1, found "
           << ids.type();
  for (const Named &list : {rows, slots, ends}) // group_rows C4
    if (failed(verifyRank(*this, list, 1)))
      return failure();
  if (failed(verifyRank(*this, count, 0)) ||
      failed(verifyDim(*this, slots, 0, rows.dim(0)))) // group_rows C5
    return failure();
  if (ends.dim(0) == 0) // group_rows C6
    return errorAt(*this, ends) << "expected at least 1 expert, found 0";
  for (const Named &operand : {ids, rows, slots, ends, count}) // group_rows C7
    if (failed(verifyNoEncoding(*this, operand)))
      return failure();
  return success();
}
