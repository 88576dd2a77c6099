//===- MmaKernels.cpp - the arithmetic of one MMA instruction -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hot loops are written once and instantiated for AVX-512, AVX2 and the
// baseline; the processor is asked at run time. All variants give the same
// bits: every operation in them is exact or correctly rounded, and the sums
// are exact by the caller's guarantee.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "mx/Support/FloatFormats.h"

#include <cmath>
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
/// Bits of a double's significand that an f32 does not have.
constexpr uint64_t dropped = 0x1FFFFFFF;
constexpr uint64_t minNormalF32 = 0x3810000000000000; // 2^-126
constexpr uint64_t overflowF32 = 0x47F0000000000000;  // 2^128

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A panel's eight columns as `parts` vectors, so that none is wider than the
/// registers: compilers are bad at splitting them.
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

/// Rows x (panels * 8) sums held in registers, which takes full unrolling.
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

/// The common case of addTruncate. Returns false when some result is no normal
/// f32 nor zero; such a row is done again one by one, so `out` must not be `c`.
/// A plain loop in integers without comparisons: all compilers vectorise it.
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
    // Rounding went away from zero where low has the other sign: step back.
    uint64_t hasLow = ((lowBits & magnitudeMask) + magnitudeMask) >> 63;
    bits -= hasLow & (bits ^ lowBits) >> 63;
    uint64_t magnitude = bits & magnitudeMask;
    // The sign of a difference tells the order, as all are below 2^63.
    uint64_t tiny = (magnitude - minNormalF32) >> 63;
    uint64_t isZero = 1 ^ (magnitude + magnitudeMask) >> 63;
    odd |= (tiny & ~isZero) | (overflowF32 - 1 - magnitude) >> 63;
    // Tensor cores know one zero only.
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

// Vectors go by reference: passing them by value has no ABI without AVX.
template <typename T>
MX_SIM_INLINE void loadVector(T &value, const void *from) {
  std::memcpy(&value, from, sizeof(T));
}

/// sum += trunc(significand * 2^shift): the power of two is built from its
/// bits, and is zero when it is too small to leave anything. A product of
/// significands has at most 24 bits and the result at most 27, so all of it is
/// exact but the conversion, which truncates.
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
    // What turns the exponent of a product into a shift.
    int32_t bits = static_cast<int32_t>(out.bits);
    base[p] = scale - largest + bits;
    sum[p] = Ints{};
    addCut<Width>(sum[p], significand, addend - largest + bits);
    for (unsigned n = 0; n < lanes; ++n)
      out.sums[p * lanes + n] = sum[p][n];
  }
  // 32 bits hold the sum of so many terms; doubles collect these sums.
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
// Best first.
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

//===----------------------------------------------------------------------===//
// Exact sums of any exponents
//===----------------------------------------------------------------------===//

/// A fixed-point number of 32-bit digits, each kept in 64 bits so that carries
/// wait until the end. Covers every product of two scaled elements: 2^-576 is
/// below the last bit of the smallest, 2^512 above the sum of the largest.
class WideSum {
public:
  void add(double value) {
    int exponent;
    double fraction = std::frexp(value, &exponent);
    if (fraction == 0)
      return;
    auto significand = static_cast<int64_t>(std::ldexp(fraction, 53));
    bool negative = significand < 0;
    uint64_t magnitude = negative ? -static_cast<uint64_t>(significand)
                                  : static_cast<uint64_t>(significand);
    unsigned position = static_cast<unsigned>(exponent - 53 - lowest);
    unsigned digit = position / 32, shift = position % 32;
    // Three digits take 53 bits at any shift.
    uint64_t low = magnitude << shift;
    uint64_t high = shift ? magnitude >> (64 - shift) : 0;
    int64_t parts[3] = {static_cast<int64_t>(low & 0xFFFFFFFFu),
                        static_cast<int64_t>(low >> 32),
                        static_cast<int64_t>(high)};
    for (int i = 0; i < 3; ++i)
      digits[digit + i] += negative ? -parts[i] : parts[i];
  }

  Truncated result() {
    bool negative = carry();
    if (negative) {
      for (int64_t &digit : digits)
        digit = -digit;
      carry();
    }
    int top = numDigits - 1;
    while (top >= 0 && digits[top] == 0)
      --top;
    Truncated out;
    if (top < 0)
      return out;
    // Two digits hold 33 to 64 bits, enough to round to f32 or f16; a double
    // takes 53 of them.
    int next = top - 1;
    auto window = static_cast<uint64_t>(digits[top]);
    if (next >= 0)
      window = window << 32 | static_cast<uint64_t>(digits[next--]);
    int exponent = lowest + 32 * (next + 1);
    for (; window >> 53 != 0; ++exponent) {
      out.inexact |= window & 1;
      window >>= 1;
    }
    for (; next >= 0 && !out.inexact; --next)
      out.inexact = digits[next] != 0;
    out.value = std::ldexp(static_cast<double>(window), exponent);
    if (negative)
      out.value = -out.value;
    return out;
  }

private:
  static constexpr int lowest = -640;
  static constexpr int numDigits = 40;
  int64_t digits[numDigits] = {};

  /// Brings all digits but the last into 0 .. 2^32 - 1; true when the number
  /// is negative.
  bool carry() {
    for (int i = 0; i + 1 < numDigits; ++i) {
      int64_t over = digits[i] >> 32;
      digits[i] -= over * (int64_t{1} << 32);
      digits[i + 1] += over;
    }
    return digits[numDigits - 1] < 0;
  }
};

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
  // Rows that turn out odd are done again, so the old values must survive.
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

Truncated mx::sim::addExact(double sum, double c) {
  double high = sum + c;
  if (!std::isfinite(high))
    return {high, false};
  double part = high - sum;
  double low = (sum - (high - part)) + (c - part);
  if (low != 0 && std::signbit(low) != std::signbit(high))
    high = doubleFromBits(bitsOf(high) - 1);
  return {high, low != 0};
}

Truncated mx::sim::dotExact(const double *a, const double *b, unsigned k,
                            double c) {
  WideSum sum;
  double special = std::isfinite(c) ? 0.0 : c;
  bool finite = std::isfinite(c);
  for (unsigned i = 0; i < k; ++i) {
    double product = a[i] * b[i];
    if (std::isfinite(product)) {
      sum.add(product);
      continue;
    }
    finite = false;
    special += product;
  }
  if (!finite)
    return {special, false};
  sum.add(c);
  return sum.result();
}

uint32_t mx::sim::truncateToF32Bits(const Truncated &value) {
  double x = value.value;
  if (std::isnan(x))
    return kF32CanonicalNaN;
  uint32_t sign = std::signbit(x) ? 0x80000000u : 0;
  double magnitude = std::fabs(x);
  if (magnitude >= 0x1p128)
    return sign | 0x7F800000u;
  if (magnitude < 0x1p-126) { // units of the smallest subnormal
    auto units = static_cast<uint32_t>(std::ldexp(magnitude, 149));
    return units ? sign | units : 0;
  }
  uint64_t bits = bitsOf(magnitude);
  auto exponent = static_cast<uint32_t>(bits >> 52) - 1023 + 127;
  return sign | exponent << 23 | (static_cast<uint32_t>(bits >> 29) & 0x7FFFFF);
}

uint16_t mx::sim::roundToF16Bits(const Truncated &value) {
  double x = value.value;
  if (std::isnan(x))
    return static_cast<uint16_t>(kF16CanonicalNaN);
  // Rounding to odd first makes the second rounding right.
  if (value.inexact)
    x = doubleFromBits(bitsOf(x) | 1);
  auto code = static_cast<uint16_t>(encodeF64(FloatFormat::F16, x));
  return code & 0x7FFF ? code : 0;
}
