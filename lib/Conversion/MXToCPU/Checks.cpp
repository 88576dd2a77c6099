//===- Checks.cpp - Sizes compared at run time ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verifiers see static sizes; the rest is compared here, before the first
// access. A failure prints one line with the operation's location and both
// values and ends the program.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "EndProgram.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Support/WeightLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

void Emitter::check(Int condition, llvm::Twine text, ArrayRef<Int> values) {
  if (std::optional<int64_t> known = getConstantIntValue(Value(condition));
      known && *known)
    return;
  createEndProgramUnless(builder, loc, module, condition,
                         "error: expected " + text + "\n",
                         llvm::to_vector_of<Value>(values));
}

void Emitter::checkDim(StringRef name, const Elements &array, int64_t dimension,
                       Int expected) {
  Int found = dim(array, dimension);
  check(found == expected,
        "dimension " + llvm::Twine(dimension) + " of " + name +
            " to be %ld, found %ld",
        {expected, found});
}

void Emitter::checkGroups(Value offsets) {
  if (!offsets || !cast<MemRefType>(offsets.getType()).isDynamicDim(0))
    return;
  Int groups = dim(offsets, 0);
  check(groups > 0, "at least 1 group, found %ld", {groups});
}

void Emitter::checkPacked(StringRef name, const Elements &weights, Int rows,
                          Int columns) {
  int64_t batch = weights.getLogicalRank() - 2;
  checkDim(name, weights, batch, rows.ceilDiv(kWeightTileRows));
  checkDim(name, weights, batch + 1, columns.ceilDiv(kWeightTileColumns));
  checkDim(name, weights, batch + 2, index(kWeightTileThreads));
  checkDim(name, weights, batch + 3, index(kWeightTileValues));
}

void Emitter::checkScales(StringRef name, const Scales &scales,
                          const Elements &like, Int rows, Int columns,
                          int64_t blockSize, std::optional<Int> groups) {
  Elements array{scales.memref, builder.getI8Type()};
  int64_t batch = like.getLogicalRank() - 2;
  for (int64_t i = 0; i < batch; ++i)
    checkDim(name, array, i, dim(like, i));
  Int blocks = columns / blockSize;
  if (scales.tiled) {
    Int tileRows =
        groups ? rows / kScaleTileRows + *groups : rows.ceilDiv(kScaleTileRows);
    checkDim(name, array, batch, tileRows);
    checkDim(name, array, batch + 1, blocks.ceilDiv(kScaleTileBlocks));
    checkDim(name, array, batch + 2, index(32));
    checkDim(name, array, batch + 3, index(4));
    checkDim(name, array, batch + 4, index(4));
    return;
  }
  checkDim(name, array, batch, rows);
  checkDim(name, array, batch + 1, blocks);
}

void Emitter::checkMultiple(StringRef name, int64_t dimension, Int found,
                            int64_t blockSize) {
  Int rest = found % blockSize, below = found - rest;
  check(rest == 0,
        "dimension " + llvm::Twine(dimension) + " of " + name +
            " to be a multiple of " + llvm::Twine(blockSize) +
            ", found %ld; the nearest are %ld and %ld",
        {found, below, below + blockSize});
}
