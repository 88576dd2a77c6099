//===- FragmentElements.cpp - Narrow elements of fragments, one by one ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Vectors of 4-bit and 6-bit elements are words. To pick elements of them, each
// gets a byte.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

static bool isNarrow(Type element) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(element);
}

static VectorType getBytes(NVVMBuilder &builder, int64_t count) {
  return VectorType::get({count}, builder.getI8Type());
}

/// Halves of the bytes, as the low halves of two words of bytes.
static void splitHalves(NVVMBuilder &builder, Value word,
                        SmallVectorImpl<Value> &words) {
  Value halves = builder.i32(0x0F0F0F0F);
  Value low = arith::AndIOp::create(builder, word, halves);
  Value high = arith::ShRUIOp::create(builder, word, builder.i32(4));
  high = arith::AndIOp::create(builder, high, halves);
  words.push_back(builder.permute(low, high, 0x5140));
  words.push_back(builder.permute(low, high, 0x7362));
}

/// The reverse of two words of bytes. Every second byte gets the byte after it.
static Value joinHalves(NVVMBuilder &builder, Value first, Value second) {
  auto fold = [&](Value word) -> Value {
    Value next = arith::ShRUIOp::create(builder, word, builder.i32(4));
    return arith::OrIOp::create(builder, word, next);
  };
  return builder.permute(fold(first), fold(second), 0x6420);
}

Value mx::mxgpu::spreadElements(NVVMBuilder &builder, Value vector,
                                Type element) {
  if (!isNarrow(element))
    return vector;
  SmallVector<Value> words = splitWords(builder, vector), spread;
  if (isa<Float4E2M1FNType>(element))
    for (Value word : words)
      splitHalves(builder, word, spread);
  else
    spread = words;
  return joinWords(builder, spread, getBytes(builder, 4 * spread.size()));
}

Value mx::mxgpu::packElements(NVVMBuilder &builder, Value vector,
                              Type element) {
  if (!isNarrow(element))
    return vector;
  SmallVector<Value> words = splitWords(builder, vector), packed;
  if (isa<Float4E2M1FNType>(element))
    for (size_t i = 0; i < words.size(); i += 2)
      packed.push_back(joinHalves(builder, words[i], words[i + 1]));
  else
    packed = words;
  return joinWords(
      builder, packed,
      VectorType::get({int64_t(packed.size())}, builder.getI32Type()));
}
