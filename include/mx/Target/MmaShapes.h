//===- MmaShapes.h - Shapes and types of tcgen05.mma ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Legal shapes, element types, scale vectors and tensor-memory layouts of each
// kind of tcgen05.mma. Covers dense instructions without .ws at the usual K,
// but neither sparse instructions nor K = 96 of sm_103a. Sources: PTX ISA,
// "tcgen05 Matrix and Data Movement Shape" (table of kinds and shapes), "Data
// Path Layout Organization", "Block Scaling for tcgen05.mma" (scale vectors,
// scale factor IDs and layouts).
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_MMASHAPES_H
#define MX_TARGET_MMASHAPES_H

#include "mx/Support/FloatFormats.h"
#include "mx/Target/TargetInfo.h"
#include <optional>
#include <string>

namespace mx::target {

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};
inline constexpr unsigned kNumMmaKinds = 7;

/// Element types of A and B.
enum class MmaType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8
};
inline constexpr unsigned kNumMmaTypes = 10;

/// Element types of D.
enum class AccumulatorType : uint8_t { F16, F32, S32 };

/// Scale format of MX; the instructions also support UE4M3.
inline constexpr FloatFormat kPowerOfTwoScale = FloatFormat::E8M0;

/// Bytes of K in shared memory that an instruction of any kind reads.
inline constexpr unsigned kMmaKBytes = 32;

struct MmaKindInfo {
  MmaKind kind;
  const char *name; ///< "mxf8f6f4"
  unsigned k;
  bool blockScaled;
  uint16_t operands;    ///< bit mask over MmaType
  uint8_t accumulators; ///< bit mask over AccumulatorType
  bool transpose;       ///< supports MN-major operands in shared memory
  bool negate;
};

const MmaKindInfo &getInfo(MmaKind kind);
const char *getName(MmaType type);
const char *getName(AccumulatorType type);
/// Returns the width of an element's format in bits.
unsigned getBits(MmaType type);
/// Returns the operand type of a format, or none for E8M0 and UE4M3.
std::optional<MmaType> getMmaType(FloatFormat format);

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

/// Row of the shape table: N ranges from nMin to nMax in steps of nStep.
struct MmaShapeRule {
  MmaKind kind;
  unsigned ctaGroup;
  unsigned m;
  unsigned nMin, nMax, nStep;
  /// Step of N on which all published descriptions agree, for choosing tiles.
  unsigned nStepPreferred;
};

Table<MmaShapeRule> getShapeRules();
/// Returns the first row of the kind, CTA group and M, or null; ignores N.
const MmaShapeRule *lookupShape(MmaKind kind, unsigned ctaGroup, unsigned m);

/// Returns an error message unless `m` x `n` is legal for the kind and CTA
/// group. M counts the rows of both CTAs of a pair.
std::string checkMmaShape(MmaKind kind, unsigned ctaGroup, unsigned m,
                          unsigned n);
/// Checks the additional limit on N for MN-major B with 8-bit elements.
std::string checkTransposedB8(unsigned ctaGroup, unsigned n);
/// Returns an error message unless the kind multiplies A by B into D.
std::string checkMmaTypes(MmaKind kind, MmaType a, MmaType b,
                          AccumulatorType d);
/// Returns an error message unless the chip supports the kind.
std::string checkMmaKind(const TargetInfo &target, MmaKind kind);

//===----------------------------------------------------------------------===//
// Scale vectors
//===----------------------------------------------------------------------===//

/// Combination of scale format and block size that a kind supports.
struct ScaleVectorRule {
  MmaKind kind;
  FloatFormat format;
  unsigned blockSize;   ///< elements of K that share a scale
  unsigned scaleIdStep; ///< legal scale ids are the multiples below 4
  const char *block;    ///< PTX: ".block32"
};

Table<ScaleVectorRule> getScaleVectorRules();

/// Returns the rule of a kind, block size and scale format. Returns null and
/// sets `error` if there is none.
const ScaleVectorRule *lookupScaleVector(MmaKind kind, unsigned blockSize,
                                         FloatFormat format,
                                         std::string &error);
/// Returns an error message if the rule does not allow the scale id.
std::string checkScaleId(const ScaleVectorRule &rule, unsigned scaleId);

/// Returns the fastest kind that multiplies A by B with this scaling, or none.
std::optional<MmaKind> selectBlockScaledKind(MmaType a, MmaType b,
                                             unsigned blockSize,
                                             FloatFormat format);

//===----------------------------------------------------------------------===//
// Layouts in tensor memory
//===----------------------------------------------------------------------===//

/// Rows covered by a group of 4 columns of scale words.
inline constexpr unsigned kScaleRowsPerGroup = 128;
inline constexpr unsigned kScaleColumnsPerGroup = 4;

/// Lanes of tensor memory. The index of a warp modulo kWarpGroupWarps selects
/// the 32 lanes that the warp accesses (PTX ISA, tcgen05 access restrictions).
/// Addresses encode the lane above the column bits.
inline constexpr unsigned kTmemLanes = 128;
inline constexpr unsigned kTmemLaneShift = 16;

/// Returns the number of columns of an M x N accumulator in each CTA.
unsigned accumulatorColumns(unsigned ctaGroup, unsigned m, unsigned n);

/// Returns the number of scale-word columns that an instruction reads per CTA.
/// Copies always fill groups of four columns.
unsigned scaleAColumns(unsigned ctaGroup, unsigned m);
unsigned scaleBColumns(unsigned ctaGroup, unsigned m, unsigned n);

} // namespace mx::target

#endif // MX_TARGET_MMASHAPES_H
