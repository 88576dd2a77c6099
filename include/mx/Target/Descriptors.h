//===- Descriptors.h - Matrix and instruction descriptors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors of tcgen05.mma, tcgen05.cp and wgmma as structs of plain values.
// `check` returns the first violated rule, or an empty string. `encode` returns
// the descriptor word. Sources: PTX ISA, "tcgen05 Shared memory descriptor" and
// "Instruction descriptor"; for wgmma, "Matrix Descriptor Format".
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_DESCRIPTORS_H
#define MX_TARGET_DESCRIPTORS_H

#include "mx/Support/Swizzle.h"
#include "mx/Target/MmaShapes.h"

namespace mx::target {

//===----------------------------------------------------------------------===//
// Shared-memory matrix descriptor
//===----------------------------------------------------------------------===//

/// Descriptors count in 16-byte units and contain 18 bits of an address
/// (PTX ISA: matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4).
inline constexpr unsigned kDescriptorUnit = 16;
inline constexpr uint32_t kDescriptorAddressMask = 0x3FFFF;
/// Units added to the low word to advance by the K of an instruction.
inline constexpr unsigned kDescriptorKStep = kMmaKBytes / kDescriptorUnit;

/// Matrix descriptor with addresses and offsets in bytes. A descriptor with
/// address 0 encodes to a constant, and the kernel adds the address in units.
struct SmemDescriptor {
  uint32_t address = 0;
  uint32_t leadingByteOffset = 0;
  uint32_t strideByteOffset = 0;
  Swizzle swizzle = Swizzle::None;
  unsigned baseOffset = 0;
};

std::string check(const SmemDescriptor &desc);
/// Returns the tcgen05 encoding of a descriptor that passes check().
uint64_t encode(const SmemDescriptor &desc);
/// Returns the wgmma encoding (sm_90a), which does not support the 128-byte
/// swizzle with 32-byte atoms.
uint64_t encodeWgmma(const SmemDescriptor &desc);

/// Returns the descriptor of a K-major operand in 8-row groups with the
/// swizzle's span as row pitch, the layout of a TMA box as wide as the span.
SmemDescriptor kMajorDescriptor(Swizzle swizzle);
/// Returns the descriptor of a 512-byte scale tile for
/// tcgen05.cp.32x128b.warpx4: 16-byte rows without swizzle.
SmemDescriptor scaleTileDescriptor();

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

struct InstrDescriptor {
  MmaKind kind = MmaKind::MXF8F6F4;
  unsigned ctaGroup = 1; ///< not encoded; determines legal shapes
  unsigned m = 128;      ///< rows of both CTAs of a pair
  unsigned n = 128;
  MmaType a = MmaType::E4M3;
  MmaType b = MmaType::E4M3;
  AccumulatorType d = AccumulatorType::F32;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false; ///< MN-major in shared memory
  bool saturate = false;                       ///< kind::i8 only
  /// Block-scaled kinds only.
  unsigned blockSize = 0;
  FloatFormat scaleFormat = kPowerOfTwoScale;
  unsigned scaleIdA = 0, scaleIdB = 0;
};

std::string check(const InstrDescriptor &desc);
/// Returns the encoding of a descriptor that passes check().
uint32_t encode(const InstrDescriptor &desc);

/// Returns the word to add to a block-scaled descriptor for other scale ids.
constexpr uint32_t scaleIdBits(unsigned scaleIdA, unsigned scaleIdB) {
  return uint32_t(scaleIdA) << 29 | uint32_t(scaleIdB) << 4;
}

} // namespace mx::target

#endif // MX_TARGET_DESCRIPTORS_H
