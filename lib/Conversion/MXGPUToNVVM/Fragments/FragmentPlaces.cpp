//===- FragmentPlaces.cpp - Coordinates of fragment elements --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the rows and columns of fragment elements in the matrix, and their
// addresses in shared memory.
//
// Box, thread and register contribute disjoint bits to each row and column
// (SharedFragmentOps.cpp), so the parts of an address are computed separately.
// The thread's part is computed once, and the register's part is a constant. An
// xor adds the few swizzled bits.
//===----------------------------------------------------------------------===//

#include "FragmentPlaces.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERCOORDINATES
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

Value mx::mxgpu::addThreadModes(
    mx::ArithBuilder &builder, Value number, int64_t count,
    FragmentLayoutAttr layout,
    llvm::function_ref<int64_t(const FragmentMode &)> step) {
  Value sum;
  int64_t weight = 1;
  for (const FragmentMode &mode : layout.getThreads()) {
    if (weight >= count)
      break;
    int64_t size = std::min(mode.size, count / weight);
    if (int64_t factor = size > 1 ? step(mode) : 0) {
      // LLVM strength-reduces powers of two.
      Value value = number;
      if (weight > 1)
        value = builder.div(value, weight);
      if (weight * size < count)
        value = builder.rem(value, size);
      if (factor > 1)
        value = builder.mul(value, factor);
      sum = sum ? builder.add(sum, value) : value;
    }
    weight *= mode.size;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

// When accesses are lowered, roles are already branches, and the thread's
// number within its role is unknown. This pass therefore adds the thread number
// to the operands of each access.

/// Computes the coordinate of the thread in a dimension, plus a constant.
static Value getCoordinate(mx::ArithBuilder &builder, FragmentLayoutAttr layout,
                           int64_t FragmentMode::*step, int64_t offset) {
  Value sum = addThreadModes(builder, ThreadIdOp::create(builder),
                             layout.getNumThreads(), layout,
                             [&](auto &mode) { return mode.*step; });
  if (sum && !offset)
    return sum;
  Value constant = arith::ConstantIndexOp::create(builder, offset);
  return sum ? builder.add(sum, constant) : constant;
}

namespace {
struct LowerCoordinatesPass final
    : mx::mxgpu::impl::MXGPULowerCoordinatesBase<LowerCoordinatesPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      mx::ArithBuilder builder(op->getLoc(), op);
      if (auto row = dyn_cast<FragmentRowOp>(op)) {
        FragmentLayoutAttr layout =
            cast<FragmentType>(row.getFragment()).getLayout();
        replace(op, getCoordinate(builder, layout, &FragmentMode::rows,
                                  layout.getRowOffsets()[row.getNumber()]));
      } else if (auto column = dyn_cast<FragmentColumnOp>(op)) {
        FragmentLayoutAttr layout =
            cast<FragmentType>(column.getFragment()).getLayout();
        replace(op, getCoordinate(builder, layout, &FragmentMode::columns,
                                  layout.getRuns()[column.getNumber()].column));
      } else {
        llvm::TypeSwitch<Operation *>(op)
            .Case<LoadFragmentOp, LoadFragmentScalesOp, StoreSharedOp>(
                [&](auto access) { addThread(builder, access); });
      }
    });
  }

  template <typename AccessOp>
  static void addThread(mx::ArithBuilder &builder, AccessOp op) {
    bool isOfRole = true;
    if constexpr (std::is_same_v<AccessOp, StoreSharedOp>)
      isOfRole = op.isOfRole();
    if (isOfRole && !op.getThread())
      op.getThreadMutable().assign(ThreadIdOp::create(builder).getResult());
  }

  static void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Bytes of registers
//===----------------------------------------------------------------------===//

Value mx::mxgpu::gatherBytes(NVVMBuilder &builder, ArrayRef<Value> words,
                             ArrayRef<BytePlace> bytes) {
  auto isOwn = [&](auto pair) {
    return pair.value().word == bytes.front().word &&
           pair.value().byte == static_cast<int64_t>(pair.index());
  };
  Value word = words[bytes.front().word];
  if (llvm::all_of(llvm::enumerate(bytes), isOwn))
    return word;
  // Each permutation adds the bytes of a further word.
  SmallVector<bool> isThere(bytes.size());
  for (size_t first = 0; first < bytes.size(); ++first) {
    if (isThere[first])
      continue;
    // The first permutation combines two words.
    size_t second = first;
    if (first == 0)
      while (second < bytes.size() && bytes[second].word == bytes[0].word)
        ++second;
    size_t other = second < bytes.size() ? bytes[second].word : bytes[0].word;
    uint32_t selector = 0;
    for (auto [i, place] : llvm::enumerate(bytes)) {
      bool isOther = place.word == other && !isThere[i];
      bool isFirstWord = first == 0 && place.word == bytes[0].word;
      uint32_t nibble = isFirstWord ? place.byte
                        : isOther   ? 4 + place.byte
                                    : static_cast<uint32_t>(i);
      selector |= nibble << (4 * i);
      isThere[i] = isThere[i] || isOther || isFirstWord;
    }
    word = builder.permute(word, words[other], selector);
  }
  return word;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

FragmentPlaces::FragmentPlaces(NVVMBuilder &builder, BufferType buffer,
                               FragmentType type, Value start, Value thread)
    : builder(builder), type(type), layout(type.getLayout()), start(start),
      bits(getStoredBits(type.getElementType())) {
  ArrayRef<int64_t> shape = buffer.getShape();
  rowBytes = shape.back() * buffer.getElementType().getIntOrFloatBitWidth() / 8;
  panelBytes = shape[shape.size() - 2] * rowBytes;
  if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
    mask = static_cast<int64_t>(buffer.getSwizzle()) - kChunkBytes;
  auto addModes = [&](auto step) -> Value {
    Value sum =
        addThreadModes(builder, thread, layout.getNumThreads(), layout, step);
    return sum ? sum : builder.i32(0);
  };
  line = addModes([&](auto &mode) { return mode.rows * rowBytes; });
  inLine = addModes([&](auto &mode) { return toBytes(mode.columns); });
  Value permutation = mask ? permute(line) : Value();
  if (toBytes(type.getColumns()) > rowBytes) {
    Value panel = builder.div(inLine, rowBytes);
    inLine = builder.rem(inLine, rowBytes);
    line = builder.add(line, builder.mul(panel, builder.i32(panelBytes)));
  }
  if (mask)
    inLine = builder.xorBits(inLine, permutation);
}

Value FragmentPlaces::permute(Value line) {
  Value shifted = builder.shiftRight(line, 3);
  return builder.andBits(shifted, mask);
}

void FragmentPlaces::moveTo(Value row, Value column) {
  Value boxLine = builder.mul(builder.toI32(row), builder.i32(rowBytes));
  // Byte offset of the column. A byte contains two 4-bit elements.
  Value byte =
      builder.div(builder.mul(builder.toI32(column), builder.i32(bits)), 8);
  Value panel = builder.div(byte, rowBytes);
  Value inRow = builder.rem(byte, rowBytes);
  Value first =
      builder.add(boxLine, builder.mul(panel, builder.i32(panelBytes)));
  if (!mask) {
    start = builder.offset(start, builder.add(first, inRow));
    return;
  }
  start = builder.offset(start, first);
  // The swizzle repeats every kSwizzleRows rows.
  bool isSame = type.getRows() % kSwizzleRows == 0;
  boxInLine = isSame ? inRow : builder.xorBits(inRow, permute(boxLine));
}

int64_t FragmentPlaces::getAlignment() const {
  int64_t alignment = std::gcd(kChunkBytes, rowBytes);
  alignment = std::gcd(alignment, toBytes(type.getColumns()));
  for (const FragmentMode &mode : layout.getThreads())
    if (mode.size > 1)
      alignment = std::gcd(alignment, toBytes(mode.columns));
  return alignment;
}

SmallVector<FragmentAccess> FragmentPlaces::getAccesses() const {
  SmallVector<FragmentAccess> accesses;
  int64_t alignment = getAlignment();
  for (int64_t row : layout.getRowOffsets())
    for (const FragmentRun &run : layout.getRuns()) {
      int64_t byte = toBytes(run.column), end = byte + toBytes(run.size);
      while (byte < end) {
        int64_t size = std::min<int64_t>(std::gcd(alignment, byte),
                                         llvm::bit_floor<uint64_t>(end - byte));
        FragmentAccess &access = accesses.emplace_back();
        access.row = row;
        access.byte = byte;
        for (int64_t i = byte; i < byte + size; ++i) {
          int64_t first = layout.getRegister(row, i * 8 / bits);
          access.registerBytes.push_back(toBytes(first) + i * 8 % bits / 8);
        }
        byte += size;
      }
    }
  return accesses;
}

Value FragmentPlaces::computePointer(int64_t changed) {
  Value place = inLine;
  if (!isShared) {
    if (changed)
      place = builder.xorBits(place, changed);
    if (boxInLine)
      place = builder.xorBits(place, boxInLine);
    return builder.offset(start, builder.add(line, place));
  }
  if (!shared)
    shared =
        builder.sharedAddress(builder.offset(start, builder.add(line, place)));
  Value address = shared;
  if (boxInLine)
    address = builder.xorBits(address, boxInLine);
  if (changed)
    address = builder.xorBits(address, changed);
  return LLVM::IntToPtrOp::create(builder, start.getType(), address);
}

Value FragmentPlaces::getPointer(const FragmentAccess &access) {
  int64_t panel = access.byte / rowBytes, byte = access.byte % rowBytes;
  int64_t changed = (byte & mask) ^ permute(access.row);
  Value &pointer = pointers[changed];
  if (!pointer)
    pointer = computePointer(changed);
  return builder.offset(pointer, access.row * rowBytes + panel * panelBytes +
                                     (byte & ~mask));
}
