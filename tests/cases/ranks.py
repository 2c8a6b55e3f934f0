"""Run a function in several processes connected by gloo, one per rank."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta

import torch
import torch.distributed as dist


def in_ranks(work, world_size, folder):
    """Return the results of ``work(rank)``, a function of a module, for each process of a group."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([work.__module__])  # import PyTorch only once
    with ProcessPoolExecutor(world_size, mp_context=context) as pool:
        tasks = [
            pool.submit(_connected, work, rank, world_size, folder / "store")
            for rank in range(world_size)
        ]
        return [task.result() for task in tasks]


def _connected(work, rank, world_size, store):
    torch.set_num_threads(1)
    wait = timedelta(minutes=2)
    dist.init_process_group("gloo", f"file://{store}", wait, rank=rank, world_size=world_size)
    result = work(rank)
    dist.barrier()
    dist.destroy_process_group()
    return result
