//===- MmaKernels.cpp - Vectorized MMA arithmetic -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loops are compiled for AVX-512, AVX2 and the baseline, and selected
// at run time. All variants are bit-identical: every operation is exact or
// correctly rounded, and callers guarantee exact sums.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "mxsim/tensor/NumberFormats.h"

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define MX_SIM_X86_VARIANTS 1
#else
#define MX_SIM_X86_VARIANTS 0
#endif
#define MX_SIM_INLINE inline __attribute__((always_inline))
#define MX_SIM_UNROLL _Pragma("GCC unroll 8")

using namespace mx;
using namespace mx::sim;

namespace {

constexpr uint64_t magnitudeMask = 0x7FFFFFFFFFFFFFFF;
/// Significand bits that a double has in excess of f32.
constexpr uint64_t dropped = 0x1FFFFFFF;
constexpr uint64_t minNormalF32 = 0x3810000000000000; // 2^-126
constexpr uint64_t overflowF32 = 0x47F0000000000000;  // 2^128

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Splits the eight columns of a panel into `parts` vectors of at most register
/// width, because compilers split wider vectors poorly.
struct Wide {
  typedef double Vec __attribute__((vector_size(64)));
  typedef float Floats __attribute__((vector_size(64)));
  typedef int32_t Ints __attribute__((vector_size(64)));
};
struct Half {
  typedef double Vec __attribute__((vector_size(32)));
  typedef float Floats __attribute__((vector_size(32)));
  typedef int32_t Ints __attribute__((vector_size(32)));
};
struct Quarter {
  typedef double Vec __attribute__((vector_size(16)));
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Ints __attribute__((vector_size(16)));
};

/// Accumulates rows x (panels * 8) elements in registers; requires full
/// unrolling.
template <typename Width, int rows, int panels>
MX_SIM_INLINE void dotBlock(const double *a, unsigned k, const double *b,
                            double *sums, unsigned stride) {
  using Vec = typename Width::Vec;
  constexpr int lanes = sizeof(Vec) / sizeof(double);
  constexpr int parts = panelColumns / lanes;
  Vec acc[rows][panels * parts] = {};
  for (unsigned i = 0; i < k; ++i) {
    Vec column[panels * parts];
    MX_SIM_UNROLL
    for (int p = 0; p < panels * parts; ++p)
      std::memcpy(&column[p],
                  b + (p / parts * k + i) * panelColumns + p % parts * lanes,
                  sizeof(Vec));
    MX_SIM_UNROLL
    for (int r = 0; r < rows; ++r) {
      double element = a[r * k + i];
      MX_SIM_UNROLL
      for (int p = 0; p < panels * parts; ++p)
        acc[r][p] += element * column[p];
    }
  }
  MX_SIM_UNROLL
  for (int r = 0; r < rows; ++r) {
    MX_SIM_UNROLL
    for (int p = 0; p < panels * parts; ++p)
      std::memcpy(sums + r * stride + p * lanes, &acc[r][p], sizeof(Vec));
  }
}

template <typename Width, int blockRows, int blockPanels>
MX_SIM_INLINE void dotBody(const double *a, unsigned rows, unsigned k,
                           const double *panels, unsigned numPanels,
                           double *sums, unsigned stride) {
  for (unsigned row = 0; row < rows; row += blockRows) {
    const double *aRows = a + row * k;
    double *out = sums + row * stride;
    unsigned p = 0;
    for (; p + blockPanels <= numPanels; p += blockPanels)
      dotBlock<Width, blockRows, blockPanels>(aRows, k,
                                              panels + p * k * panelColumns,
                                              out + p * panelColumns, stride);
    for (; p < numPanels; ++p)
      dotBlock<Width, blockRows, 1>(aRows, k, panels + p * k * panelColumns,
                                    out + p * panelColumns, stride);
  }
}

//===----------------------------------------------------------------------===//
// Sum with the accumulator
//===----------------------------------------------------------------------===//

/// Implements the common case of addTruncate. Returns false if any result is
/// neither a normal f32 nor zero. The caller then recomputes each element of
/// the row, so `out` must not alias `c`. The loop uses integers without
/// comparisons, so all compilers vectorize it.
template <bool hasC>
MX_SIM_INLINE bool addRow(const double *__restrict sums,
                          const float *__restrict c, double scale,
                          unsigned count, float *__restrict out) {
  uint64_t odd = 0;
  for (unsigned n = 0; n < count; ++n) {
    double addend = hasC ? double{c[n]} * scale : 0.0;
    // Knuth's TwoSum: high + low is the exact sum.
    double high = sums[n] + addend;
    double part = high - sums[n];
    double low = (sums[n] - (high - part)) + (addend - part);
    uint64_t bits, lowBits;
    std::memcpy(&bits, &high, sizeof(bits));
    std::memcpy(&lowBits, &low, sizeof(lowBits));
    // If low has the opposite sign, high was rounded away from zero, so
    // decrement its magnitude.
    uint64_t hasLow = ((lowBits & magnitudeMask) + magnitudeMask) >> 63;
    bits -= hasLow & (bits ^ lowBits) >> 63;
    uint64_t magnitude = bits & magnitudeMask;
    // All values are below 2^63, so the sign of a difference compares them.
    uint64_t tiny = (magnitude - minNormalF32) >> 63;
    uint64_t isZero = 1 ^ (magnitude + magnitudeMask) >> 63;
    odd |= (tiny & ~isZero) | (overflowF32 - 1 - magnitude) >> 63;
    // Tensor cores only produce positive zero.
    bits &= ~dropped & ~(isZero << 63);
    double cut;
    std::memcpy(&cut, &bits, sizeof(cut));
    out[n] = static_cast<float>(cut);
  }
  return odd == 0;
}

MX_SIM_INLINE bool addTruncateBody(const double *sums, const float *c,
                                   double scale, unsigned count, float *out) {
  return c ? addRow<true>(sums, c, scale, count, out)
           : addRow<false>(sums, nullptr, scale, count, out);
}

//===----------------------------------------------------------------------===//
// Truncated sums
//===----------------------------------------------------------------------===//

// Returns by reference because vectors cannot be passed by value without AVX.
template <typename T>
MX_SIM_INLINE void loadVector(T &value, const void *from) {
  std::memcpy(&value, from, sizeof(T));
}

/// Computes sum += trunc(significand * 2^shift). The power of two is built from
/// its bits, and is zero if it is too small to affect the sum. Products of
/// significands have at most 24 bits and results at most 27, so only the
/// truncating conversion is inexact.
template <typename Width>
MX_SIM_INLINE void addCut(typename Width::Ints &sum,
                          const typename Width::Floats &significand,
                          const typename Width::Ints &shift) {
  using Ints = typename Width::Ints;
  Ints biased = shift + 127;
  biased = biased > 0 ? biased : Ints{};
  biased <<= 23;
  typename Width::Floats power;
  loadVector(power, &biased);
  sum += __builtin_convertvector(significand * power, Ints);
}

template <typename Width>
MX_SIM_INLINE void fusedBody(const FusedOperand &a, const FusedOperand &b,
                             unsigned k, const FusedSums &out) {
  using Ints = typename Width::Ints;
  using Floats = typename Width::Floats;
  constexpr unsigned lanes = sizeof(Ints) / sizeof(int32_t);
  constexpr int parts = fusedColumns / lanes;
  Ints base[parts], sum[parts];
  MX_SIM_UNROLL
  for (int p = 0; p < parts; ++p) {
    loadVector(base[p], b.exponents + p * lanes);
    base[p] += a.exponents[0];
  }
  for (unsigned i = 1; i < k; ++i) {
    MX_SIM_UNROLL
    for (int p = 0; p < parts; ++p) {
      Ints exponent;
      loadVector(exponent, b.exponents + i * fusedColumns + p * lanes);
      exponent += a.exponents[i];
      base[p] = base[p] > exponent ? base[p] : exponent;
    }
  }
  MX_SIM_UNROLL
  for (int p = 0; p < parts; ++p) {
    Ints scale, addend;
    Floats significand;
    loadVector(scale, out.scales + p * lanes);
    loadVector(addend, out.addendExponents + p * lanes);
    loadVector(significand, out.addends + p * lanes);
    Ints largest = base[p] + scale;
    largest = largest > addend ? largest : addend;
    std::memcpy(out.exponents + p * lanes, &largest, sizeof(Ints));
    // From here, `base` plus the exponent of a product is the product's shift.
    int32_t bits = static_cast<int32_t>(out.bits);
    base[p] = scale - largest + bits;
    sum[p] = Ints{};
    addCut<Width>(sum[p], significand, addend - largest + bits);
    for (unsigned n = 0; n < lanes; ++n)
      out.sums[p * lanes + n] = sum[p][n];
  }
  // The sum of fusedTerms terms fits in 32-bit integers. Doubles accumulate
  // these sums.
  for (unsigned first = 0; first < k; first += fusedTerms) {
    unsigned last = first + fusedTerms < k ? first + fusedTerms : k;
    MX_SIM_UNROLL
    for (int p = 0; p < parts; ++p)
      sum[p] = Ints{};
    for (unsigned i = first; i < last; ++i) {
      float significand = a.significands[i];
      int32_t exponent = a.exponents[i];
      MX_SIM_UNROLL
      for (int p = 0; p < parts; ++p) {
        unsigned at = i * fusedColumns + p * lanes;
        Floats product;
        Ints shift;
        loadVector(product, b.significands + at);
        loadVector(shift, b.exponents + at);
        product *= significand;
        shift += exponent + base[p];
        addCut<Width>(sum[p], product, shift);
      }
    }
    MX_SIM_UNROLL
    for (int p = 0; p < parts; ++p) {
      int32_t parcel[lanes];
      std::memcpy(parcel, &sum[p], sizeof(parcel));
      for (unsigned n = 0; n < lanes; ++n)
        out.sums[p * lanes + n] += parcel[n];
    }
  }
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

void dotBaseline(const double *a, unsigned rows, unsigned k,
                 const double *panels, unsigned numPanels, double *sums,
                 unsigned stride) {
  dotBody<Quarter, 2, 1>(a, rows, k, panels, numPanels, sums, stride);
}
bool addBaseline(const double *sums, const float *c, double scale,
                 unsigned count, float *out) {
  return addTruncateBody(sums, c, scale, count, out);
}
void fusedBaseline(const FusedOperand &a, const FusedOperand &b, unsigned k,
                   const FusedSums &out) {
  fusedBody<Quarter>(a, b, k, out);
}

#if MX_SIM_X86_VARIANTS
__attribute__((target("avx2,fma"))) void fusedAvx2(const FusedOperand &a,
                                                   const FusedOperand &b,
                                                   unsigned k,
                                                   const FusedSums &out) {
  fusedBody<Half>(a, b, k, out);
}
__attribute__((target("avx512f,avx512dq,avx512vl,fma"))) void
fusedAvx512(const FusedOperand &a, const FusedOperand &b, unsigned k,
            const FusedSums &out) {
  fusedBody<Wide>(a, b, k, out);
}
__attribute__((target("avx2,fma"))) void
dotAvx2(const double *a, unsigned rows, unsigned k, const double *panels,
        unsigned numPanels, double *sums, unsigned stride) {
  dotBody<Half, 4, 1>(a, rows, k, panels, numPanels, sums, stride);
}
__attribute__((target("avx2,fma"))) bool addAvx2(const double *sums,
                                                 const float *c, double scale,
                                                 unsigned count, float *out) {
  return addTruncateBody(sums, c, scale, count, out);
}
__attribute__((target("avx512f,avx512dq,avx512vl,fma"))) void
dotAvx512(const double *a, unsigned rows, unsigned k, const double *panels,
          unsigned numPanels, double *sums, unsigned stride) {
  dotBody<Wide, 8, 2>(a, rows, k, panels, numPanels, sums, stride);
}
__attribute__((target("avx512f,avx512dq,avx512vl,fma"))) bool
addAvx512(const double *sums, const float *c, double scale, unsigned count,
          float *out) {
  return addTruncateBody(sums, c, scale, count, out);
}
#endif

bool always() { return true; }
#if MX_SIM_X86_VARIANTS
bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

struct Variant {
  bool (*isAvailable)();
  Kernels kernels;
};
// Variants, fastest first.
constexpr Variant variants[] = {
#if MX_SIM_X86_VARIANTS
    {hasAvx512, {"avx512", dotAvx512, addAvx512, fusedAvx512}},
    {hasAvx2, {"avx2", dotAvx2, addAvx2, fusedAvx2}},
#endif
    {always, {"baseline", dotBaseline, addBaseline, fusedBaseline}},
};

const Kernels &kernels() {
  static const Kernels chosen = availableKernels().front();
  return chosen;
}

} // namespace

std::vector<Kernels> mx::sim::availableKernels() {
#if MX_SIM_X86_VARIANTS
  __builtin_cpu_init();
#endif
  std::vector<Kernels> result;
  for (const Variant &variant : variants)
    if (variant.isAvailable())
      result.push_back(variant.kernels);
  return result;
}

void mx::sim::dotPanels(const double *a, unsigned rows, unsigned k,
                        const double *panels, unsigned numPanels, double *sums,
                        unsigned stride) {
  kernels().dot(a, rows, k, panels, numPanels, sums, stride);
}

void mx::sim::fusedSums(const FusedOperand &a, const FusedOperand &b,
                        unsigned k, const FusedSums &out) {
  kernels().fused(a, b, k, out);
}

void mx::sim::addTruncate(const double *sums, const float *c, double scale,
                          unsigned count, float *out) {
  // Keep the old values because rows with unusual results are recomputed.
  constexpr unsigned most = 256;
  float result[most];
  for (unsigned first = 0; first < count; first += most) {
    unsigned part = count - first < most ? count - first : most;
    const float *old = c ? c + first : nullptr;
    if (!kernels().add(sums + first, old, scale, part, result))
      for (unsigned n = 0; n < part; ++n) {
        double addend = old ? widenF32(old[n]) * scale : 0.0;
        result[n] =
            floatFromBits(truncateToF32Bits(addExact(sums[first + n], addend)));
      }
    std::memcpy(out + first, result, part * sizeof(float));
  }
}
