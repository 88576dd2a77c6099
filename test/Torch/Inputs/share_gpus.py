"""Runs a program as a process of torchrun on one of the GPUs, which processes share if there are too few. NCCL then
connects them by sockets, like GPUs of several machines: it refuses a second process of a machine on the same GPU."""

import os
import runpy
import sys

import torch

count = torch.cuda.device_count()
if int(os.environ["LOCAL_WORLD_SIZE"]) > count:
    os.environ["LOCAL_RANK"] = str(int(os.environ["LOCAL_RANK"]) % count)
    os.environ.update(NCCL_HOSTID=f"rank{os.environ['RANK']}", NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket")
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
