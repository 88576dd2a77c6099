//===- NcclTest.cpp - Declarations of NCCL against its header -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built only if a toolkit with NCCL is found. The library loads without a GPU.
//===----------------------------------------------------------------------===//

#include <nccl.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <type_traits>

#include "../../runtime/lib/group/Nccl.h"

namespace ours = mx::runtime::nccl;

static_assert(int(ours::kSuccess) == int(ncclSuccess));
static_assert(int(ours::kRemoteError) == int(ncclRemoteError));
static_assert(int(ours::kSystemError) == int(ncclSystemError));
static_assert(int(ours::kUint8) == int(ncclUint8));
static_assert(sizeof(ours::UniqueId) == sizeof(ncclUniqueId));
static_assert(alignof(ours::UniqueId) == alignof(ncclUniqueId));

namespace {

/// Type of a parameter in the binary interface.
template <typename T>
struct Plain {
  using type = T;
};
template <typename T>
using PlainOf = typename Plain<T>::type;
#define SAME_TYPE(theirs, ...)                                                 \
  template <>                                                                  \
  struct Plain<theirs> {                                                       \
    using type = __VA_ARGS__;                                                  \
  }
SAME_TYPE(ncclResult_t, int);
SAME_TYPE(ncclResult_t *, int *);
SAME_TYPE(ncclDataType_t, int);
SAME_TYPE(ncclUniqueId, ours::UniqueId);
SAME_TYPE(ncclUniqueId *, ours::UniqueId *);
SAME_TYPE(ncclConfig_t *, ours::Config *);
SAME_TYPE(ncclComm_t, ours::Communicator);
SAME_TYPE(ncclComm_t *, ours::Communicator *);
SAME_TYPE(cudaStream_t, void *);

template <typename Ours, typename Theirs>
struct Same;
template <typename R, typename... P, typename S, typename... Q>
struct Same<R (*)(P...), S (*)(Q...)>
    : std::is_same<R(P...), PlainOf<S>(PlainOf<Q>...)> {};

#define X(member, symbol, result, types)                                       \
  static_assert(                                                               \
      Same<decltype(ours::Library::member), decltype(&symbol)>::value,         \
      #symbol);
MX_NCCL_REQUIRED_FUNCTIONS(X)
MX_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X

// A later header adds fields at the end.
#define SAME_FIELD(field)                                                      \
  static_assert(offsetof(ours::Config, field) == offsetof(ncclConfig_t, field))
SAME_FIELD(size);
SAME_FIELD(magic);
SAME_FIELD(version);
SAME_FIELD(blocking);
SAME_FIELD(cgaClusterSize);
SAME_FIELD(minCTAs);
SAME_FIELD(maxCTAs);
SAME_FIELD(netName);
SAME_FIELD(splitShare);
SAME_FIELD(trafficClass);
SAME_FIELD(commName);
SAME_FIELD(collnetEnable);
SAME_FIELD(CTAPolicy);
SAME_FIELD(shrinkShare);
SAME_FIELD(nvlsCTAs);
SAME_FIELD(nChannelsPerNetPeer);
SAME_FIELD(nvlinkCentricSched);

TEST(Nccl, ConfigMatchesTheHeader) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  ours::Config config;
  EXPECT_LE(config.size, theirs.size);
  EXPECT_LE(config.version, theirs.version);
  theirs.size = config.size;
  theirs.version = config.version;
  EXPECT_EQ(memcmp(&config, &theirs, sizeof(config)), 0);
}

TEST(Nccl, TheLibraryHasAllFunctions) {
  setenv("MX_NCCL_LIBRARY", MX_TEST_NCCL, 1);
  ours::Library library;
  mx::runtime::Error error = ours::load(library);
  ASSERT_FALSE(error) << error.text;
  EXPECT_GE(library.version, NCCL_VERSION(2, 27, 0));
  EXPECT_NE(library.path.find("libnccl.so"), std::string::npos);
#define X(member, symbol, result, types) EXPECT_NE(library.member, nullptr);
  MX_NCCL_REQUIRED_FUNCTIONS(X)
#undef X
  EXPECT_EQ(library.allToAll != nullptr,
            library.version >= NCCL_VERSION(2, 28, 0));
  EXPECT_STREQ(library.getErrorString(ours::kSuccess), "no error");
}

} // namespace
