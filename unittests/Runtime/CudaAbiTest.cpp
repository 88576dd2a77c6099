//===- CudaAbiTest.cpp - Declarations of the driver against cuda.h --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built only if a CUDA toolkit is found. Compares handwritten numbers, layouts
// and parameter lists with the header.
//===----------------------------------------------------------------------===//

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <type_traits>

#include "../../runtime/lib/cuda/Driver.h"

namespace ours = mx::runtime::cuda;

#define SAME_NUMBER(name) static_assert(int(ours::name) == int(::name))
SAME_NUMBER(CUDA_ERROR_INVALID_VALUE);
SAME_NUMBER(CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(CUDA_ERROR_DEINITIALIZED);
SAME_NUMBER(CUDA_ERROR_NO_DEVICE);
SAME_NUMBER(CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_NUMBER(CUDA_ERROR_INVALID_PTX);
SAME_NUMBER(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME_NUMBER(CUDA_ERROR_NOT_FOUND);
SAME_NUMBER(CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_NUMBER(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME_NUMBER(CUDA_ERROR_LAUNCH_TIMEOUT);
SAME_NUMBER(CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME_NUMBER(CUDA_ERROR_LAUNCH_FAILED);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME_NUMBER(CU_JIT_ERROR_LOG_BUFFER);
SAME_NUMBER(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(CU_JIT_OPTIMIZATION_LEVEL);
SAME_NUMBER(CU_STREAM_NON_BLOCKING);
SAME_NUMBER(CU_STREAM_CAPTURE_STATUS_NONE);
SAME_NUMBER(CU_EVENT_DEFAULT);
SAME_NUMBER(CU_EVENT_DISABLE_TIMING);
SAME_NUMBER(CU_MEM_ATTACH_GLOBAL);
SAME_NUMBER(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

using mx::Swizzle;
using mx::target::TensorMapFill;
using mx::target::TensorMapInterleave;
using mx::target::TensorMapL2;
using mx::target::TensorMapType;
static_assert(int(TensorMapType::F16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(int(TensorMapType::BF16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(int(TensorMapType::TF32FTZ) ==
              CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ);
static_assert(int(TensorMapInterleave::B32) == CU_TENSOR_MAP_INTERLEAVE_32B);
static_assert(int(Swizzle::B128) == CU_TENSOR_MAP_SWIZZLE_128B);
static_assert(int(TensorMapL2::B256) == CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
static_assert(int(TensorMapFill::NaN) ==
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
#if CUDA_VERSION >= 12080
static_assert(int(TensorMapType::U6Align16) ==
              CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
static_assert(int(Swizzle::B128Atom64) == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
#endif

static_assert(sizeof(ours::CUlaunchAttribute) == sizeof(::CUlaunchAttribute));
static_assert(offsetof(ours::CUlaunchAttribute, value) ==
              offsetof(::CUlaunchAttribute, value));
static_assert(sizeof(ours::CUipcMemHandle) == sizeof(::CUipcMemHandle));
static_assert(sizeof(ours::CUlaunchConfig) == sizeof(::CUlaunchConfig));
static_assert(offsetof(ours::CUlaunchConfig, blockDim) ==
              offsetof(::CUlaunchConfig, blockDimX));
static_assert(offsetof(ours::CUlaunchConfig, sharedMemBytes) ==
              offsetof(::CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(ours::CUlaunchConfig, hStream) ==
              offsetof(::CUlaunchConfig, hStream));
static_assert(offsetof(ours::CUlaunchConfig, attrs) ==
              offsetof(::CUlaunchConfig, attrs));
static_assert(offsetof(ours::CUlaunchConfig, numAttrs) ==
              offsetof(::CUlaunchConfig, numAttrs));

/// Returns true if two parameters are passed in the same way: both are
/// pointers, or both are integers or enumerations of the same size.
template <typename A, typename B>
constexpr bool sameParameter() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  else
    return sizeof(A) == sizeof(B);
}

template <typename... A, typename R, typename... B>
constexpr bool sameParameters(ours::CUresult (*)(A...), R (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return (sameParameter<A, B>() && ...);
}

// The header's macros map the names of functions to versioned names, unless the
// header still declares an older version of the function.
#define X(member, symbol, types)                                               \
  static_assert(sameParameters(decltype(ours::Driver::member)(nullptr),        \
                               decltype (&::symbol)(nullptr)),                 \
                #symbol);
MX_CUDA_REQUIRED_FUNCTIONS(X)
#if CUDA_VERSION >= 12040
MX_CUDA_OPTIONAL_FUNCTIONS(X)
#endif
#undef X

TEST(CudaAbi, UnionMembersHaveOffsetZero) {
  ::CUlaunchAttribute theirs = {};
  theirs.value.clusterDim.x = 2;
  theirs.value.clusterDim.y = 3;
  theirs.value.clusterDim.z = 4;
  ours::CUlaunchAttribute mine;
  memcpy(&mine, &theirs, sizeof(mine));
  EXPECT_EQ(mine.value.clusterDim[0], 2u);
  EXPECT_EQ(mine.value.clusterDim[1], 3u);
  EXPECT_EQ(mine.value.clusterDim[2], 4u);
  theirs.value.programmaticStreamSerializationAllowed = 1;
  memcpy(&mine, &theirs, sizeof(mine));
  EXPECT_EQ(mine.value.programmaticStreamSerializationAllowed, 1);
}

TEST(CudaAbi, PerThreadStreamHandle) {
  EXPECT_EQ(ours::kStreamPerThread, uintptr_t(CU_STREAM_PER_THREAD));
}
