//===- NamesTest.cpp - Readable names of C++ symbols ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares symbols from g++ with the names in the C++ source.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

#include "gtest/gtest.h"

using namespace mx::sim;

TEST(Names, Functions) {
  const std::pair<const char *, const char *> rows[] = {
      {"_Z5plaini", "plain"},
      // auto run(T), where T is a lambda in main
      {"_ZN1a3runIZ4mainEUliE_EEDaT_", "a::run<main::{lambda(int)#1}>"},
      // decltype(auto) dec(T (&)[N])
      {"_ZN1a3decIiLi3EEEDcRAT0__T_", "a::dec<int, 3>"},
      {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
      {"_ZNK1a12_GLOBAL__N_11BIiE1fEv", "a::(anonymous namespace)::B<int>::f"},
      {"_ZNK1a12_GLOBAL__N_11BIiEclEi",
       "a::(anonymous namespace)::B<int>::operator()"},
      {"_ZNK1a12_GLOBAL__N_11BIiEcvbEv",
       "a::(anonymous namespace)::B<int>::operator bool"},
      {"_ZNK1a12_GLOBAL__N_11BIiEltEi",
       "a::(anonymous namespace)::B<int>::operator<"},
      {"_ZN1a12_GLOBAL__N_11BIiEptEv",
       "a::(anonymous namespace)::B<int>::operator->"},
      {"_ZN1a12_GLOBAL__N_11BIiEixEi",
       "a::(anonymous namespace)::B<int>::operator[]"},
      {"_ZN1a12_GLOBAL__N_11BIiElsILi3EEEvi",
       "a::(anonymous namespace)::B<int>::operator<< <3>"},
      // Names that are not valid mangled C++ names.
      {"matmul", "matmul"},
      {"_Zbad", "_Zbad"},
      {"_Z", "_Z"},
      {"", ""},
  };
  for (auto [symbol, name] : rows)
    EXPECT_EQ(shortName(symbol), name) << symbol;
}

TEST(Names, OfKernels) {
  constexpr const char *kSums = "_ZN4demo4sumsILi64EEEvPKfPfi";
  EXPECT_EQ(matchName(kSums, kSums), NameMatch::Exact);
  for (const char *typed :
       {"void demo::sums<64>(float const*, float*, int)", "demo::sums<64>"})
    EXPECT_EQ(matchName(typed, kSums), NameMatch::Whole) << typed;
  for (const char *typed : {"demo::sums", "sums<64>", "sums"})
    EXPECT_EQ(matchName(typed, kSums), NameMatch::Part) << typed;
  for (const char *typed : {"", "sum", "demo", "demo::", "sums<32>", "void"})
    EXPECT_EQ(matchName(typed, kSums), NameMatch::None) << typed;
  EXPECT_EQ(matchName("sums", "sums"), NameMatch::Exact);
  EXPECT_EQ(matchName("sum", "sums"), NameMatch::None);
  // A function outside of namespaces is preferred to a function in a namespace.
  EXPECT_EQ(matchName("g", "_Z1gi"), NameMatch::Whole);
  EXPECT_EQ(matchName("g", "_ZN1a1gEi"), NameMatch::Part);
}

TEST(Names, VariablesOfFunctions) {
  EXPECT_EQ(shortVariableName("_ZZN4demo4sumsILi64EEEvPKfPfiE4tile"), "tile");
  EXPECT_EQ(shortVariableName("_ZZN1a3decIiLi3EEEDcRAT0__T_E1s"), "s");
  EXPECT_EQ(shortVariableName("_ZZZ4mainENKUliE_clEiE3cnt"), "cnt");
  EXPECT_EQ(shortVariableName("tile"), "tile");
  EXPECT_EQ(demangled("_ZN4demo4sumsILi64EEEvPKfPfi"),
            "void demo::sums<64>(float const*, float*, int)");
}
