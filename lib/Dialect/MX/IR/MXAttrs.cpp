//===- MXAttrs.cpp - Attributes of the mx dialect -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

/// Limit that prevents overflow of sizes computed from group counts.
static constexpr int64_t kMaxGroups = int64_t{1} << 31;

LogicalResult
ScaleLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ScaleLayoutKind kind, RaggedKind ragged,
                        int64_t groups) {
  if (ragged == RaggedKind::None) { // scale_layout C1
    if (groups != 0)
      return emitError() << "expected no expert groups in a layout that is not "
                            "ragged, found "
                         << groups;
    return success();
  }
  if (groups < 1 || groups > kMaxGroups) // scale_layout C2
    return emitError() << "expected 1 to " << kMaxGroups
                       << " expert groups in a ragged layout, found " << groups;
  return success();
}

LogicalResult ScaleLayoutAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  // The parser calls this with a null element type after an error.
  if (!elementType)
    return failure();
  if (shape.size() < 2) // scale_layout C3
    return emitError()
           << "expected a scale tensor of rank 2 or more, found rank "
           << shape.size();
  if (getRagged() != RaggedKind::None && shape.size() != 2) // scale_layout C4
    return emitError()
           << "expected a ragged scale tensor of rank 2, found rank "
           << shape.size();
  const BlockFormat *format = findBlockFormat(elementType);
  if (!format) // scale_layout C5
    return emitError() << "expected scales of type " << listScaleTypes()
                       << ", found " << elementType;
  // scale_layout C5
  if ((!format->hasTiles && getKind() == ScaleLayoutKind::Sf128x4) ||
      (!format->hasMNMajor && getKind() == ScaleLayoutKind::MNMajor))
    return emitError() << "expected the linear layout"
                       << (format->hasMNMajor ? " or mn_major"
                           : format->hasTiles ? " or sf_128x4"
                                              : "")
                       << " with scales of type " << elementType << ", found "
                       << *this;
  return success();
}

ScaleLayoutAttr ScaleLayoutAttr::get(ShapedType type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (auto layout =
            dyn_cast_if_present<ScaleLayoutAttr>(tensor.getEncoding()))
      return layout;
  return ScaleLayoutAttr::get(type.getContext(), ScaleLayoutKind::Linear,
                              RaggedKind::None, 0);
}

LogicalResult RaggedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t groups, int64_t align) {
  if (groups < 1 || groups > kMaxGroups) // ragged C1
    return emitError() << "expected 1 to " << kMaxGroups
                       << " expert groups, found " << groups;
  if (align != kRaggedReductionAlign) // ragged C2
    return emitError() << "expected expert groups aligned to 128, found "
                       << align;
  return success();
}

LogicalResult
RaggedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (!elementType)
    return failure();
  if (shape.size() != 2) // ragged C3
    return emitError() << "expected a tensor of rank 2, found rank "
                       << shape.size();
  return success();
}
