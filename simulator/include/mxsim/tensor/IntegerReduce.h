//===- IntegerReduce.h - Integer reductions in memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by atom, red, red.async and the bulk reductions.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_INTEGERREDUCE_H
#define MXSIM_TENSOR_INTEGERREDUCE_H

#include "mxsim/tensor/Tma.h"

#include <type_traits>

namespace mx::sim {

/// Returns the result of `op` for `old` and `b` (PTX ISA, atom).
template <class T>
constexpr T reduceInteger(ReduceOp op, T old, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case ReduceOp::Add:
    return T(U(old) + U(b));
  case ReduceOp::Min:
    return b < old ? b : old;
  case ReduceOp::Max:
    return b > old ? b : old;
  case ReduceOp::Inc:
    return U(old) >= U(b) ? T(0) : T(old + 1);
  case ReduceOp::Dec:
    return U(old) == 0 || U(old) > U(b) ? b : T(old - 1);
  case ReduceOp::And:
    return old & b;
  case ReduceOp::Or:
    return old | b;
  case ReduceOp::Xor:
    return old ^ b;
  }
  return b;
}

} // namespace mx::sim

#endif // MXSIM_TENSOR_INTEGERREDUCE_H
