// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "common.h"

/// Returns the tensor map of `rows` rows of 4 KiB, in boxes of `boxRows` rows
/// and `rowBytes` bytes. Boxes of 32, 64 or 128 bytes are swizzled.
inline CUtensorMap
makeMap(void *data, uint64_t rows, uint32_t rowBytes, uint32_t boxRows,
        CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8) {
  static PFN_cuTensorMapEncodeTiled_v12000 encode;
  if (!encode) {
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled",
                                           (void **)&encode, 12000,
                                           cudaEnableDefault, &found));
  }
  CUtensorMap map;
  uint32_t elementBytes = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 1;
  cuuint64_t extents[2] = {4096 / elementBytes, rows}, strides[1] = {4096};
  cuuint32_t box[2] = {rowBytes / elementBytes, boxRows}, steps[2] = {1, 1};
  CUtensorMapSwizzle swizzle = rowBytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                               : rowBytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                               : rowBytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                : CU_TENSOR_MAP_SWIZZLE_NONE;
  CUresult result = encode(&map, type, 2, data, extents, strides, box, steps,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(result));
    exit(1);
  }
  return map;
}
