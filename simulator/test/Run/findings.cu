// RUN: %build_program %s -o %t
// Findings make the exit status 1; a fatal fault is an error of all later calls, as on a GPU.
// RUN: not mx-sim run %t race 2>&1 | FileCheck --check-prefix=RACE %s
// Reports cover all processes, also one that crashes.
// RUN: rm -rf %t.ptx.d && not mx-sim run --report=%t.json --sarif=%t.sarif --ptx=%t.ptx.d sh -c "%t race; %t crash; %t none" 2>&1 | FileCheck --check-prefix=ALL %s
// RUN: %python -c "import json, os, sys; r = json.load(open(sys.argv[1])); n = os.listdir(sys.argv[2]); assert r['exit_status'] == 1 and len(r['launches']) == 4 and len(n) == 1, (r.keys(), n)" %t.json %t.ptx.d
// RUN: %python %S/../Inputs/check_sarif.py %t.sarif %sim_source/docs | FileCheck --check-prefix=SARIF %s
// RUN: mx-sim run --checks=none %t race 2>&1 | FileCheck --check-prefix=NONE %s
// RUN: not mx-sim run %t wild 2>&1 | FileCheck --check-prefix=WILD %s
// RUN: not mx-sim run %t assert 2>&1 | FileCheck --check-prefix=ASSERT %s
// RUN: not mx-sim run %t crash 2>&1 | FileCheck --check-prefix=CRASH %s
// RUN: not mx-sim run %t term 2>&1 | FileCheck --check-prefix=TERM %s
// Signals sent to mx-sim alone end the program, which closes its pipe; the running kernel is named.
// RUN: not mx-sim run --report=%t.hang.json %t hang 2>&1 | FileCheck --check-prefix=HANG %s
// RUN: %python -c "import json, sys; r = json.load(open(sys.argv[1])); assert r == dict(format=2, exit_status=130, interrupted=['_Z4hangPVi'], launches=[]), r" %t.hang.json
// RUN: %python -c "import subprocess, sys; assert subprocess.run(sys.argv[1:], stdout=-1, timeout=40).returncode == -9" mx-sim run %t kill
// RUN: mx-sim run %t missing 2>&1 | FileCheck --check-prefix=MISSING %s
// The status of the program is kept.
// RUN: %python -c "import subprocess, sys; assert subprocess.run(sys.argv[1:]).returncode == 255" mx-sim run %t status 2>&1 | FileCheck --check-prefix=STATUS %s

// Programs and options that cannot be used.
// RUN: nvcc -arch=sm_90a %s -o %t.stripped -Xlinker -s && not mx-sim run %t.stripped race 2>&1 | FileCheck --check-prefix=STRIPPED %s
// RUN: nvcc -gencode arch=compute_90a,code=sm_90a -cudart shared %s -o %t.cubin
// RUN: not mx-sim run %t.cubin race 2>&1 | FileCheck --check-prefix=CUBIN %s
// RUN: nvcc -G -gencode arch=compute_90a,code=sm_90a -cudart shared %s -o %t.debug
// RUN: not mx-sim run %t.debug race 2>&1 | FileCheck --check-prefix=DEBUG %s
// RUN: nvcc -gencode arch=compute_90a,code=compute_90a -cudart shared %s -o %t.ptx_only
// RUN: not mx-sim run --chip=b200 %t.ptx_only race 2>&1 | FileCheck --check-prefix=CHIP %s
// RUN: not mx-sim run --chip=h300 %t race 2>&1 | FileCheck --check-prefix=NOCHIP %s
// RUN: not mx-sim run --seed=x %t 2>&1 | FileCheck --check-prefix=SEED %s
// RUN: not mx-sim run --sed=1 %t 2>&1 | FileCheck --check-prefix=OPTION %s
// RUN: not mx-sim run 2>&1 | FileCheck --check-prefix=NOTHING %s
// RUN: not mx-sim run ./none 2>&1 | FileCheck --check-prefix=ABSENT %s
// RUN: not mx-sim run %s 2>&1 | FileCheck --check-prefix=SOURCE %s
// RUN: rm -rf %t.d && mkdir %t.d && cp %t %t.d/mm && cd %t.d && not mx-sim run mm 2>&1 | FileCheck --check-prefix=BESIDE %s
// RUN: not mx-sim run %S 2>&1 | FileCheck --check-prefix=FOLDER %s
// RUN: not mx-sim run --report=/none/r %t 2>&1 | FileCheck --check-prefix=NOWRITE %s
// RUN: not mx-sim run --report=%t.r --sarif=%t.r %t 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: not mx-sim run --sarif=%t %t 2>&1 | FileCheck --check-prefix=OVER %s
// RUN: mx-sim run --help | FileCheck --check-prefix=HELP %s

#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

__global__ void unordered(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void wild(int *out) { out[1 << 20] = 1; }
__global__ void hang(volatile int *out) { for (;;) *out = *out + 1; }
__global__ void checks(int value) { assert(value == 3); }

int main(int, char **arguments) {
  int *out;
  auto is = [&](const char *word) { return !strcmp(arguments[1], word); };
  if (is("kill") && !kill(getppid(), SIGKILL))
    sleep(60);
  if (is("status"))
    return 255;
  if (cudaError_t error = cudaMalloc(&out, 256); error) {
    printf("%s\n", cudaGetErrorName(error));
    return 1;
  }
  if (is("race") || is("crash") || is("term"))
    for (int i = 0; i < 2; ++i)
      unordered<<<1, 64>>>(out);
  if (is("crash")) {
    cudaDeviceSynchronize();
    abort();
  }
  if (is("term")) {
    cudaDeviceSynchronize();
    kill(getppid(), SIGTERM); // mx-sim
    pause();
  }
  if (is("hang")) {
    signal(SIGINT, SIG_DFL); // lit ignores it
    signal(SIGALRM, [](int) { kill(getppid(), SIGINT); });
    alarm(2);
    hang<<<1, 1>>>(out);
  }
  if (is("wild"))
    wild<<<1, 1>>>(out);
  if (is("assert"))
    checks<<<1, 1>>>(4);
  if (is("missing"))
    for (int i = 0; i < 2; ++i) {
      cudaArray_t array;
      cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
      printf("array: %s\n", cudaGetErrorName(cudaMallocArray(&array, &desc, 64)));
    }
  cudaError_t error = cudaDeviceSynchronize();
  printf("synchronize: %s\n", cudaGetErrorName(error));
  printf("free: %s\n", cudaGetErrorName(cudaFree(out)));
}
// RACE-NOT: no lines
// RACE: free: cudaSuccess
// RACE: 1.ptx:{{[0-9]+}}: race: {{.*}}'tile'
// RACE: findings.cu:{{[0-9]+:[0-9]+}} in unordered
// RACE: 2 launches, {{[0-9]}} findings
// NONE: free: cudaSuccess
// NONE: 2 launches, clean
// WILD: synchronize: cudaErrorIllegalAddress
// WILD: free: cudaErrorIllegalAddress
// WILD: out-of-bounds: {{.*}}
// ASSERT: synchronize: cudaErrorAssert
// CRASH: race: {{.*}}'tile'
// CRASH: 2 launches, {{[0-9]}} findings
// CRASH: ended by signal 6
// TERM: 2 launches, {{[0-9]}} findings
// TERM: ended by signal 15
// HANG: 0 launches, nothing checked, interrupted in kernel hang
// STATUS: 0 launches, nothing checked
// STATUS-NOT: signal
// MISSING: cudaMallocArray: not supported by mx-sim
// MISSING-NOT: cudaMallocArray: not
// MISSING: array: cudaErrorNotSupported
// STRIPPED: cuGetExportTable: found a program or library that contains CUDA's runtime without symbols
// CUBIN: expected PTX for the simulator, found a fatbin with code for sm_90 only
// DEBUG: findings name no lines of the source: expected PTX in the program, {{.*}}-gencode arch=compute_90a,code=compute_90a
// DEBUG-NOT: no lines
// DEBUG: 2 launches, {{[0-9]}} findings
// CHIP: expected PTX that runs on sm_100, found PTX for sm_90a
// NOCHIP: --chip: expected one of h200, b200, rtx5090, found 'h300'
// SEED: simulator option seed: expected a number from 0 to 2^64-1, found 'x'
// OPTION: run: unknown option '--sed=1'
// NOTHING: run: expected a program
// ALL: sh: 4 launches, 6 findings
// SARIF: findings.cu:{{.*}} race in unordered
// SARIF-NEXT: ptx.d/{{.*}}: line of PTX
// FOLDER: error: {{.*}}Run: Permission denied
// FOLDER-NOT: clean
// NOWRITE: error: /none/r: No such file or directory
// SAME: error: --report and --sarif are the same file
// OVER: error: --sarif and the program are the same file
// ABSENT: ./none: expected a program, found none{{$}}
// SOURCE: findings.cu: expected an executable, found a file without execute permission: compile a .cu file first
// BESIDE: mm: expected a program on PATH, found none: write ./mm
// HELP: mx-sim run [OPTIONS] PROGRAM [ARGUMENTS...]
// HELP: --chip NAME
