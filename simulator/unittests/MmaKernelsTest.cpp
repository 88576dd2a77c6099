//===- MmaKernelsTest.cpp - Dot products on each processor ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels for all processors of the host must compute the same bits and
// detect inexact sums.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "TensorTestUtils.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mx::sim;
using namespace mx::sim::test;

namespace {

TEST(MmaKernels, WideSumsReportInexactness) {
  auto dot = [](std::vector<double> terms, double c) {
    std::vector<double> ones(terms.size(), 1.0);
    return dotExact(terms.data(), ones.data(), terms.size(), c);
  };
  EXPECT_FALSE(dot({0.5, 0x1p-52}, 0).inexact);
  for (int exponent : {-54, -60, -64, -65, -100, -500}) {
    Truncated sum = dot({0.5, std::ldexp(1.0, exponent)}, 0);
    EXPECT_TRUE(sum.inexact) << exponent;
    EXPECT_EQ(sum.value, 0.5);
    // 1024.5 is a tie between 1024 and 1025, which the tiny terms break.
    EXPECT_EQ(roundToF16Bits(dot({1024}, 0.5)), 0x6400);
    EXPECT_EQ(roundToF16Bits(dot({1024, std::ldexp(1.0, exponent)}, 0.5)),
              0x6401);
    EXPECT_EQ(roundToF16Bits(dot({-1024, std::ldexp(1.0, exponent)}, -0.5)),
              0xE400);
  }
  EXPECT_EQ(dot({0x1p280, -0x1p280, 0x1p-300}, 0).value, 0x1p-300);
  EXPECT_EQ(dot({1, -0x1p-300}, 0).value, 1 - 0x1p-53);
}

TEST(MmaKernels, AllVariantsTruncateAlike) {
  std::mt19937 random(28);
  constexpr unsigned k = 32;
  for (int spread : {1, 6, 40, 300}) {
    auto exponent = [&] { return int(random() % spread) - spread / 2; };
    std::vector<float> a(k), b(k * fusedColumns), c(fusedColumns);
    std::vector<int32_t> ea(k), eb(k * fusedColumns), ec(fusedColumns),
        scales(fusedColumns);
    auto fill = [&](std::vector<float> &significands,
                    std::vector<int32_t> &exponents, unsigned bits) {
      for (size_t i = 0; i < significands.size(); ++i) {
        // Significands below two with few bits, some zero or unnormalized.
        uint32_t integer = random() & ((1u << bits) - 1);
        significands[i] = std::ldexp(float(integer), 1 - int(bits)) *
                          (random() % 2 ? 1 : -1) * float(random() % 8 != 0);
        exponents[i] = exponent();
      }
    };
    fill(a, ea, 11);
    fill(b, eb, 11);
    fill(c, ec, 24);
    for (int32_t &scale : scales)
      scale = exponent();
    for (unsigned bits : {13u, 25u})
      for (const Kernels &kernels : availableKernels()) {
        double sums[fusedColumns];
        int32_t exponents[fusedColumns];
        kernels.fused(
            {a.data(), ea.data()}, {b.data(), eb.data()}, k,
            {c.data(), ec.data(), scales.data(), bits, sums, exponents});
        for (unsigned n = 0; n < fusedColumns; ++n) {
          int top = ec[n];
          for (unsigned i = 0; i < k; ++i)
            top = std::max(top, ea[i] + eb[i * fusedColumns + n] + scales[n]);
          double want = std::trunc(std::ldexp(c[n], ec[n] - top + int(bits)));
          for (unsigned i = 0; i < k; ++i) {
            double product = double(a[i]) * b[i * fusedColumns + n];
            int e = ea[i] + eb[i * fusedColumns + n] + scales[n];
            want += std::trunc(std::ldexp(product, e - top + int(bits)));
          }
          ASSERT_EQ(exponents[n], top) << kernels.name;
          ASSERT_EQ(sums[n], want) << kernels.name << " " << spread;
        }
      }
  }
}

TEST(MmaKernels, AllVariantsGiveTheSameBits) {
  std::mt19937 random(27);
  std::vector<double> a(16 * 32), b(40 * 32);
  for (double &x : a)
    x = e4m3(random() % 127);
  for (double &x : b)
    x = -e4m3(random() % 127) * std::ldexp(1.0, int(random() % 9) - 4);
  std::vector<float> c(40);
  for (float &x : c)
    x = std::ldexp(float(random()), -int(random() % 40));
  for (const Kernels &kernels : availableKernels()) {
    std::vector<double> sums(16 * 40);
    kernels.dot(a.data(), 16, 32, b.data(), 5, sums.data(), 40);
    for (unsigned r = 0; r < 16; ++r)
      for (unsigned n = 0; n < 40; ++n) {
        double want = 0;
        for (unsigned i = 0; i < 32; ++i)
          want += a[r * 32 + i] * b[n / 8 * 256 + i * 8 + n % 8];
        ASSERT_EQ(sums[r * 40 + n], want) << kernels.name;
      }
    std::vector<float> out(40);
    ASSERT_TRUE(kernels.add(sums.data(), c.data(), 0.25, 40, out.data()));
    for (unsigned n = 0; n < 40; ++n) {
      BigFixed sum;
      sum.add(sums[n]);
      sum.add(c[n] * 0.25);
      ASSERT_EQ(double(out[n]), sum.truncate(24, -149)) << kernels.name;
    }
    sums[7] = 1e-42;
    c[7] = 0;
    EXPECT_FALSE(kernels.add(sums.data(), c.data(), 1, 40, out.data()));
    sums[7] = 1e39;
    EXPECT_FALSE(kernels.add(sums.data(), c.data(), 1, 40, out.data()));
    sums[7] = std::nan("");
    EXPECT_FALSE(kernels.add(sums.data(), c.data(), 1, 40, out.data()));
  }
}

} // namespace
