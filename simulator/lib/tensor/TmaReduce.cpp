//===- TmaReduce.cpp - Element functions of bulk reductions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX ISA defines the legal combinations of operation and type in
// cp.reduce.async.bulk and cp.reduce.async.bulk.tensor. Additions round to
// nearest and keep subnormals.
//===----------------------------------------------------------------------===//

#include "TmaReduce.h"

#include "mxsim/tensor/IntegerReduce.h"
#include "mxsim/tensor/NumberFormats.h"

#include <cmath>
#include <cstring>

using namespace mx;
using namespace mx::sim;

namespace {

template <typename T, T (*fn)(T, T)>
void reduce(uint8_t *target, const uint8_t *source, uint64_t bytes) {
  for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, target + i, sizeof(T));
    std::memcpy(&b, source + i, sizeof(T));
    a = fn(a, b);
    std::memcpy(target + i, &a, sizeof(T));
  }
}

template <ReduceOp op, typename T>
T integer(T a, T b) {
  return reduceInteger(op, a, b);
}

uint32_t addF32(uint32_t a, uint32_t b) {
  float sum = floatFromBits(a) + floatFromBits(b);
  return std::isnan(sum) ? kF32CanonicalNaN : bitsOf(sum);
}
/// Flushes subnormals to signed zeros for type f32_ftz (measured on an H200).
uint32_t flush(uint32_t bits) {
  return bits & 0x7F800000u ? bits : bits & 0x80000000u;
}
uint32_t addF32Ftz(uint32_t a, uint32_t b) {
  return flush(addF32(flush(a), flush(b)));
}
uint64_t addF64(uint64_t a, uint64_t b) {
  return bitsOf(doubleFromBits(a) + doubleFromBits(b));
}

/// Adds two 16-bit floats in f64. The sum is exact for f16. For bf16, rounding
/// twice is harmless because the 53 bits of a double are more than 2 * 8 + 2.
template <FloatFormat format>
uint16_t addHalf(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>(
      encodeF64(format, double{decode(format, a)} + double{decode(format, b)}));
}
/// Returns the minimum or maximum. If one operand is NaN, returns the other.
template <FloatFormat format, bool wantMin>
uint16_t pickHalf(uint16_t a, uint16_t b) {
  float x = decode(format, a), y = decode(format, b);
  if (std::isnan(x) && std::isnan(y))
    return 0x7FFF;
  if (std::isnan(x))
    return b;
  if (std::isnan(y))
    return a;
  // Negative zero orders before positive zero.
  bool less = x < y || (x == y && std::signbit(x));
  return less == wantMin ? a : b;
}

struct Row {
  ReduceOp op;
  ReduceType type;
  bool toShared;
  ReduceFunction fn;
};
using O = ReduceOp;
using T = ReduceType;
using F = FloatFormat;
// Signed and unsigned additions are identical.
constexpr Row table[] = {
    {O::Add, T::U32, true, reduce<uint32_t, integer<O::Add>>},
    {O::Add, T::S32, true, reduce<uint32_t, integer<O::Add>>},
    {O::Add, T::U64, true, reduce<uint64_t, integer<O::Add>>},
    {O::Add, T::F32, false, reduce<uint32_t, addF32>},
    {O::Add, T::F64, false, reduce<uint64_t, addF64>},
    {O::Add, T::F16, false, reduce<uint16_t, addHalf<F::F16>>},
    {O::Add, T::BF16, false, reduce<uint16_t, addHalf<F::BF16>>},
    {O::Min, T::U32, true, reduce<uint32_t, integer<O::Min>>},
    {O::Min, T::S32, true, reduce<int32_t, integer<O::Min>>},
    {O::Min, T::U64, false, reduce<uint64_t, integer<O::Min>>},
    {O::Min, T::S64, false, reduce<int64_t, integer<O::Min>>},
    {O::Min, T::F16, false, reduce<uint16_t, pickHalf<F::F16, true>>},
    {O::Min, T::BF16, false, reduce<uint16_t, pickHalf<F::BF16, true>>},
    {O::Max, T::U32, true, reduce<uint32_t, integer<O::Max>>},
    {O::Max, T::S32, true, reduce<int32_t, integer<O::Max>>},
    {O::Max, T::U64, false, reduce<uint64_t, integer<O::Max>>},
    {O::Max, T::S64, false, reduce<int64_t, integer<O::Max>>},
    {O::Max, T::F16, false, reduce<uint16_t, pickHalf<F::F16, false>>},
    {O::Max, T::BF16, false, reduce<uint16_t, pickHalf<F::BF16, false>>},
    {O::Inc, T::U32, true, reduce<uint32_t, integer<O::Inc>>},
    {O::Dec, T::U32, true, reduce<uint32_t, integer<O::Dec>>},
    {O::And, T::B32, true, reduce<uint32_t, integer<O::And>>},
    {O::Or, T::B32, true, reduce<uint32_t, integer<O::Or>>},
    {O::Xor, T::B32, true, reduce<uint32_t, integer<O::Xor>>},
    {O::And, T::B64, false, reduce<uint64_t, integer<O::And>>},
    {O::Or, T::B64, false, reduce<uint64_t, integer<O::Or>>},
    {O::Xor, T::B64, false, reduce<uint64_t, integer<O::Xor>>},
};

constexpr std::string_view opNames[] = {"add", "min", "max", "inc",
                                        "dec", "and", "or",  "xor"};
constexpr std::string_view typeNames[] = {"u32",  "s32", "u64", "s64", "f16",
                                          "bf16", "f32", "f64", "b32", "b64"};

ReduceFunction find(ReduceOp op, ReduceType type) {
  for (const Row &row : table)
    if (row.op == op && row.type == type)
      return row.fn;
  return nullptr;
}

bool isBitwise(ReduceOp op) {
  return op == O::And || op == O::Or || op == O::Xor;
}

template <typename E, unsigned N>
bool parse(const std::string_view (&names)[N], std::string_view name,
           E &value) {
  for (unsigned i = 0; i < N; ++i)
    if (names[i] == name) {
      value = static_cast<E>(i);
      return true;
    }
  return false;
}

} // namespace

bool mx::sim::parseReduceOp(std::string_view name, ReduceOp &op) {
  return parse(opNames, name, op);
}
bool mx::sim::parseReduceType(std::string_view name, ReduceType &type) {
  return parse(typeNames, name, type);
}
std::string_view mx::sim::name(ReduceOp op) {
  return opNames[static_cast<unsigned>(op)];
}
std::string_view mx::sim::name(ReduceType type) {
  return typeNames[static_cast<unsigned>(type)];
}

ReduceFunction mx::sim::findTensorReduce(ReduceOp op, TmapType type) {
  switch (type) {
  case TmapType::U32:
    return find(op, isBitwise(op) ? T::B32 : T::U32);
  case TmapType::I32:
    return find(op, isBitwise(op) ? T::B32 : T::S32);
  case TmapType::U64:
    return find(op, isBitwise(op) ? T::B64 : T::U64);
  case TmapType::I64: // bitwise reductions are illegal on an H200
    return find(op, T::S64);
  case TmapType::F16:
    return find(op, T::F16);
  case TmapType::BF16:
    return find(op, T::BF16);
  case TmapType::F32:
    return find(op, T::F32);
  case TmapType::F32Ftz:
    return op == O::Add ? reduce<uint32_t, addF32Ftz> : nullptr;
  default:
    return nullptr;
  }
}

ReduceFunction mx::sim::findBulkReduce(ReduceOp op, ReduceType type,
                                       bool toShared) {
  for (const Row &row : table)
    if (row.op == op && row.type == type && (row.toShared || !toShared))
      return row.fn;
  return nullptr;
}
