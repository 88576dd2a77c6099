//===- print_memref.cpp - What programs of MLIR print with ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// libmlir_runner_utils has these functions, too, but needs all of LLVM.
//
//===----------------------------------------------------------------------===//

#include "mlir/ExecutionEngine/RunnerUtils.h"

extern "C" {
void _mlir_ciface_printMemrefF32(UnrankedMemRefType<float> *memref) {
  impl::printMemRef(*memref);
}
void _mlir_ciface_printMemrefI32(UnrankedMemRefType<int32_t> *memref) {
  impl::printMemRef(*memref);
}
void printI64(int64_t number) { std::cout << number; }
void printU64(uint64_t number) { std::cout << number; }
void printNewline() { std::cout << std::endl; }
}
