//===- Descriptors.h - matrix and instruction descriptors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The words that tell tcgen05.mma and tcgen05.cp where matrices lie in shared
// memory and what to do with them. Each descriptor is a struct of plain values
// with a check, which gives the first violated rule, and an encoder.
//
// Sources: PTX ISA, "tcgen05 Shared memory descriptor" and "Instruction
// descriptor"; for wgmma, "Matrix Descriptor Format".
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_DESCRIPTORS_H
#define MX_TARGET_DESCRIPTORS_H

#include "mx/Support/Swizzle.h"
#include "mx/Target/MmaShapes.h"

namespace mx::target {

//===----------------------------------------------------------------------===//
// Shared-memory matrix descriptor
//===----------------------------------------------------------------------===//

/// Bytes are counted in units of 16 in descriptors, which hold 18 bits of an
/// address (PTX ISA: matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4).
inline constexpr unsigned kDescriptorUnit = 16;
inline constexpr uint32_t kDescriptorAddressMask = 0x3FFFF;
/// Adding this many units to the low word advances the start by one
/// instruction's K slice.
inline constexpr unsigned kDescriptorKStep = kMmaKBytes / kDescriptorUnit;

/// Addresses and offsets are in bytes. Address 0 gives the constant part, to
/// which the kernel adds the units of the address's bits.
struct SmemDescriptor {
  uint32_t address = 0;
  uint32_t leadingByteOffset = 0;
  uint32_t strideByteOffset = 0;
  Swizzle swizzle = Swizzle::None;
  unsigned baseOffset = 0;
};

std::string check(const SmemDescriptor &desc);
/// The tcgen05 form of a descriptor that passes check().
uint64_t encode(const SmemDescriptor &desc);
/// The wgmma form (sm_90a), which has no 128-byte swizzle with 32-byte atoms.
uint64_t encodeWgmma(const SmemDescriptor &desc);

/// A K-major operand whose rows lie `span` bytes apart, in groups of 8 rows:
/// what TMA writes with the same swizzle and an inner box of one span.
SmemDescriptor kMajorDescriptor(Swizzle swizzle);
/// One 512-byte tile of scales as tcgen05.cp.32x128b.warpx4 reads it: rows of
/// 16 bytes without swizzle.
SmemDescriptor scaleTileDescriptor();

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

struct InstrDescriptor {
  MmaKind kind = MmaKind::MXF8F6F4;
  unsigned ctaGroup = 1; ///< not encoded; decides the legal shapes
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
/// The descriptor word of a descriptor that passes check().
uint32_t encode(const InstrDescriptor &desc);

/// What to add to a block-scaled descriptor to select other scale ids.
constexpr uint32_t scaleIdBits(unsigned scaleIdA, unsigned scaleIdB) {
  return uint32_t(scaleIdA) << 29 | uint32_t(scaleIdB) << 4;
}

} // namespace mx::target

#endif // MX_TARGET_DESCRIPTORS_H
