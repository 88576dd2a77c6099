//===- MmaOperands.h - Operand access of MMA instructions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. Converts descriptors and tensor memory to rows of
// doubles.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMAOPERANDS_H
#define MXSIM_LIB_TENSOR_MMAOPERANDS_H

#include "mxsim/tensor/Descriptors.h"
#include "mxsim/tensor/Tcgen05.h"

#include <vector>

namespace mx::sim {

/// Bytes of each row in a K step, for all kinds. Rows of B are twice as long if
/// A is sparse.
constexpr unsigned stepBytes = 32;
constexpr unsigned maxStepBytes = 2 * stepBytes;
constexpr unsigned maxK = 128;
constexpr unsigned maxScaleBlocks = 4;

/// Packing of the elements of a row in its 32 bytes.
enum class Packing {
  /// 1-, 2- or 4-byte elements.
  Bytes,
  /// 64 nibbles.
  Nibbles,
  /// Sixteen 4- or 6-bit elements at the start of each 16 bytes.
  Padded,
  /// A single element per byte. 4-bit elements begin at bit 2, and 6-bit
  /// elements begin at bit 1.
  Containers,
  /// A single element per byte of a register. 4-bit elements begin at bit 2,
  /// and 6-bit elements begin at bit 0.
  RegisterBytes,
};
Packing packingOf(MmaKind kind, ElementType type, bool inTensorMemory);
/// Returns the packing of floats in mma.sync registers.
Packing packingInRegisters(ElementType type, bool isPacked);

/// Raw bytes of each row in a K step.
struct RawRows {
  std::vector<uint8_t> bytes;
  unsigned rowBytes = stepBytes;
  void resize(unsigned rows) { bytes.resize(rows * rowBytes); }
  uint8_t *row(unsigned i) { return &bytes[i * rowBytes]; }
  const uint8_t *row(unsigned i) const { return &bytes[i * rowBytes]; }
};

/// Reads rows [origin, origin + count) of an operand in shared memory into rows
/// [first, first + count).
Fault readShared(const SharedMemory &shared, const SmemDesc &desc,
                 bool transposed, ElementType type, unsigned count,
                 std::string_view what, RawRows &rows, unsigned first,
                 unsigned origin = 0);
/// Reads an operand from 8 columns of tensor memory; row i is in lane
/// laneOf(i).
Fault readTensor(const CtaView &cta, uint32_t address, unsigned count,
                 unsigned (*laneOf)(unsigned), RawRows &rows, unsigned first,
                 Fault &uninitialized);

void decodeRow(const uint8_t *bytes, ElementType type, Packing packing,
               unsigned k, bool negate, double *values);
/// Decodes the integers of kind::i8, wgmma and mma.sync.
void decodeIntRow(const uint8_t *bytes, ElementType type, unsigned k,
                  int32_t *values);

/// Returns the smallest exponent of a normal number of the type. Subnormal
/// terms have the same exponent.
int minExponent(ElementType type);
/// Returns the number of bits from the highest to the lowest bit of any value
/// of the type, or 0 if sums in doubles cannot rely on this bound.
unsigned staticRange(ElementType type);

struct ScaleRow {
  uint8_t bytes[maxScaleBlocks];
};
/// Location of the scales of an operand, for a half of the data path.
struct ScalePlace {
  uint32_t address;
  unsigned id, blocks;
  unsigned count;
  /// Lane partitions with identical contents: [firstPartition, +
  /// numPartitions).
  unsigned firstPartition, numPartitions;
};
/// Reads the scales of rows 0 .. count - 1. Requires identical contents in all
/// lane partitions.
Fault readScales(const CtaView &cta, const ScalePlace &place,
                 std::string_view what, std::vector<ScaleRow> &scales,
                 unsigned first, Fault &uninitialized);
double decodeScale(ScaleType type, uint8_t code);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMAOPERANDS_H
