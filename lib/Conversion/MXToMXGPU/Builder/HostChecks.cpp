//===- HostChecks.cpp - Checks of operands on the host --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HostChecks.h"
#include "../../Utils/HostCode.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void mx::mxgpu::requireSize(KernelBuilder &host, Value found, Value expected,
                            const Twine &what) {
  Value isEqual =
      arith::CmpIOp::create(host, arith::CmpIPredicate::eq, found, expected);
  RequireOp::create(host, isEqual,
                    ("expected " + what + " to be %lld, found %lld").str(),
                    ValueRange{expected, found});
}

void mx::mxgpu::requireAtMost(KernelBuilder &host, Value found, int64_t limit,
                              const Twine &what) {
  Value most = host.index(limit);
  Value fits =
      arith::CmpIOp::create(host, arith::CmpIPredicate::ule, found, most);
  RequireOp::create(host, fits, (kAtMostMessage + what + kFoundMessage).str(),
                    ValueRange{most, found});
}

void mx::mxgpu::requireMultiple(KernelBuilder &host, Value found,
                                int64_t factor, const Twine &what) {
  Value rest = host.rem(found, factor);
  Value isZero = arith::CmpIOp::create(host, arith::CmpIPredicate::eq, rest,
                                       host.index(0));
  Value below = host.sub(found, rest);
  RequireOp::create(host, isZero,
                    ("expected " + what + " to be a multiple of " +
                     Twine(factor) +
                     ", found %lld; the nearest are %lld and %lld")
                        .str(),
                    ValueRange{found, below, host.add(below, factor)});
}

void mx::mxgpu::requireExperts(KernelBuilder &host, Value offsets) {
  if (!offsets || !cast<MemRefType>(offsets.getType()).isDynamicDim(0))
    return;
  Value groups = host.dim(offsets, 0);
  Value isAny = arith::CmpIOp::create(host, arith::CmpIPredicate::ult,
                                      host.index(0), groups);
  RequireOp::create(host, isAny, "expected at least 1 expert group, found %lld",
                    ValueRange(groups));
}

void mx::mxgpu::requireScaleSizes(KernelBuilder &host, Value scales, Value rows,
                                  Value columns, BlockShape block,
                                  Value rowTiles, StringRef name,
                                  int64_t batch) {
  auto type = cast<MemRefType>(scales.getType());
  ScaleLayoutKind layout = getLayoutKind(type, batch + 2);
  if (layout == ScaleLayoutKind::MNMajor) {
    for (auto [dim, size] :
         {std::pair(batch, host.div(columns, block)),
          std::pair(batch + 1, host.ceilDiv(rows, kMNMajorRows))})
      requireSize(host, host.dim(scales, dim), size,
                  "dimension " + Twine(dim) + " of " + name);
    return;
  }
  if (layout == ScaleLayoutKind::Linear) {
    int64_t blockRows = getBlockRows(type.getElementType(), block);
    if (blockRows > 1)
      rows = blockRows == BlockFormat::kWhole ? host.index(1)
                                              : host.ceilDiv(rows, blockRows);
    requireSize(host, host.dim(scales, batch), rows,
                "dimension " + Twine(batch) + " of " + name);
    Value blocks =
        block == BlockFormat::kWhole ? host.index(1) : host.div(columns, block);
    requireSize(host, host.dim(scales, batch + 1), blocks,
                "dimension " + Twine(batch + 1) + " of " + name);
    return;
  }
  if (!rowTiles)
    rowTiles = host.ceilDiv(rows, kScaleTileRows);
  requireSize(host, host.dim(scales, batch), rowTiles,
              "dimension " + Twine(batch) + " of " + name);
  requireSize(host, host.dim(scales, batch + 1),
              block == BlockFormat::kWhole
                  ? host.index(1)
                  : host.ceilDiv(columns, kScaleTileBlocks * block),
              "dimension " + Twine(batch + 1) + " of " + name);
}

/// Compares the bits as unsigned integers: the bits of positive finite floats
/// are 1 to 0x7F7FFFFF.
/// The host does not wait for values in memory (docs/reference/Spec.md).
Value mx::mxgpu::checkPositive(KernelBuilder &host, Value scale) {
  Value bits = arith::BitcastOp::create(host, host.getI32Type(), scale);
  Value shown = arith::IndexCastUIOp::create(host, host.getIndexType(), bits);
  auto isAtMost = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(host, arith::CmpIPredicate::ule, a, b);
  };
  Value isAboveZero = isAtMost(host.index(1), shown);
  Value isPositive = arith::AndIOp::create(
      host, isAboveZero, isAtMost(shown, host.index(0x7F7FFFFF)));
  if (followsFromMemory(scale)) {
    Value nan = arith::ConstantOp::create(
        host, host.getFloatAttr(host.getF32Type(),
                                APFloat::getNaN(APFloat::IEEEsingle())));
    return arith::SelectOp::create(host, isPositive, scale, nan);
  }
  RequireOp::create(host, isPositive,
                    "expected a finite global_scale greater than 0, found the "
                    "bits %lld",
                    ValueRange(shown));
  return scale;
}

bool mx::mxgpu::mayHaveStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return (type.getElementType().isIndex() ||
          type.getElementTypeBitWidth() >= 8) &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

LogicalResult mx::mxgpu::verifyRowStride(Operation *op, MemRefType type,
                                         int64_t multiple, StringRef name) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t stride = strides[0], length = type.getDimSize(1);
  int64_t least =
      ShapedType::isDynamic(length) ? multiple : roundUp(length, multiple);
  if (ShapedType::isDynamic(stride) ||
      (stride % multiple == 0 && stride >= least))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected the row stride of ")
                            << name << " to be a multiple of " << multiple
                            << " elements and at least " << least
                            << " on the GPU, found " << stride;
  int64_t below = stride / multiple * multiple;
  if (below < least)
    diag.attachNote() << "the nearest is " << least;
  else
    diag.attachNote() << "the nearest are " << below << " and "
                      << below + multiple;
  return diag;
}

void mx::mxgpu::requireRows(KernelBuilder &host, Value matrix, int64_t multiple,
                            int64_t alignment, const Twine &name) {
  auto type = cast<MemRefType>(matrix.getType());
  if (!isContiguous(type)) {
    auto view = memref::ExtractStridedMetadataOp::create(host, matrix);
    Value stride = view.getStrides()[0], length = host.dim(matrix, 1);
    requireMultiple(host, stride, multiple, "the row stride of " + name);
    Value fits =
        arith::CmpIOp::create(host, arith::CmpIPredicate::uge, stride, length);
    RequireOp::create(host, fits,
                      ("expected the row stride of " + name +
                       " to be at least the row length %lld, found %lld")
                          .str(),
                      ValueRange{length, stride});
  }
  requireMultiple(host, getAddress(host, matrix), alignment,
                  "the address of " + name);
}

//===----------------------------------------------------------------------===//
// Known sizes
//===----------------------------------------------------------------------===//

static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kMost : product;
}

/// Evaluates unsigned arithmetic on sizes, saturating at `kMost`. Returns none
/// if `value` is not known at compile time.
static std::optional<int64_t> evaluate(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(op)) {
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!type || !index || type.isDynamicDim(*index))
      return std::nullopt;
    return type.getDimSize(*index);
  }
  if (!op || op->getNumOperands() != 2 || op->getNumRegions())
    return std::nullopt;
  std::optional<int64_t> a = evaluate(op->getOperand(0));
  std::optional<int64_t> b = a ? evaluate(op->getOperand(1)) : std::nullopt;
  if (!b || *a < 0 || *b < 0)
    return std::nullopt;
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::MulIOp) { return multiply(*a, *b); })
      .Case([&](arith::AddIOp) { return *a > kMost - *b ? kMost : *a + *b; })
      .Case([&](arith::MinUIOp) { return std::min(*a, *b); })
      .Case([&](arith::DivUIOp) { return *b ? Result(*a / *b) : Result(); })
      .Case([&](arith::CeilDivUIOp) -> Result {
        if (!*b)
          return std::nullopt;
        return *a / *b + (*a % *b != 0);
      })
      .Default([](Operation *) { return std::nullopt; });
}

static LogicalResult verifyAtMost(Location loc, Value found, int64_t most,
                                  StringRef what) {
  std::optional<int64_t> known = evaluate(found);
  if (!known || *known <= most)
    return success();
  InFlightDiagnostic diag = emitError(loc) << "expected at most " << most << ' '
                                           << what << " on the GPU, found ";
  if (*known == kMost)
    diag << "more than 2^63";
  else
    diag << *known;
  return diag << ": divide the operation into several";
}

LogicalResult mx::mxgpu::verifyKnownSizes(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (auto launch = dyn_cast<LaunchOp>(op))
      return verifyAtMost(op->getLoc(), launch.getGrid(), kMaxWorkTiles,
                          "CTAs");
    auto require = dyn_cast<RequireOp>(op);
    // Match the form created by `requireAtMost`.
    StringRef message = require ? require.getMessage() : StringRef();
    if (!message.consume_front(kAtMostMessage) ||
        !message.consume_back(kFoundMessage))
      return WalkResult::advance();
    std::optional<int64_t> most = evaluate(require.getValues()[0]);
    return most ? verifyAtMost(op->getLoc(), require.getValues()[1], *most,
                               message)
                : success();
  });
  return failure(result.wasInterrupted());
}
