/*===- device.c - A user of the installed runtime -------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Names the device that kernels would run on.                                *|
\*===----------------------------------------------------------------------===*/

#include <mx_runtime.h>
#include <stdio.h>

int main(void) {
  mxDeviceInfo info = {.structSize = sizeof info};
  if (mxSetDevice("sim") != MX_SUCCESS ||
      mxGetDeviceInfo(&info) != MX_SUCCESS) {
    fprintf(stderr, "device: %s\n", mxGetLastError());
    return 1;
  }
  printf("%s with %d multiprocessors\n", info.kind, (int)info.multiprocessors);
  return 0;
}
