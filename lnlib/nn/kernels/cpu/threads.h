// Threads for one call into a library: nothing is left behind that a fork or a second caller could
// meet. build.py hands over PyTorch's OpenMP, where it finds it.

#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

constexpr int MAX_THREADS = 256;  // as in build.py

// Where the threads of a call meet. Who is there first looks for the others for some microseconds,
// which is what they part by where each has a core, and then sleeps: another thread, of this process
// or not, may need the core.
class Barrier {
    std::atomic<int> waiting{0}, round{0}, asleep{0};
    static constexpr int LOOKS = 400;

public:
    std::atomic<int> threads{1};
    void wait() {
        int now = round.load(std::memory_order_relaxed);
        if (waiting.fetch_add(1, std::memory_order_acq_rel) == threads - 1) {
            waiting.store(0, std::memory_order_relaxed);
            round.store(now + 1);
            if (asleep.load()) wake();
            return;
        }
        for (int k = 0; k < LOOKS; ++k) {
            if (round.load(std::memory_order_acquire) != now) return;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            asm volatile("yield");
#endif
        }
        asleep.fetch_add(1);
        while (round.load() == now) sleep(now);
        asleep.fetch_sub(1);
    }

private:
#if defined(__linux__)
    static_assert(sizeof(std::atomic<int>) == sizeof(int), "the system waits for an int");
    void sleep(int now) {
        syscall(SYS_futex, &round, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
    }
    void wake() { syscall(SYS_futex, &round, FUTEX_WAKE_PRIVATE, MAX_THREADS, nullptr, nullptr, 0); }
#else
    void sleep(int) { std::this_thread::yield(); }
    void wake() {}
#endif
};

// PyTorch's OpenMP, where build.py finds it. Its idle threads spin for some milliseconds after
// each operation; threads of our own would have to share the cores with them.
typedef void (*Launch)(void (*)(void *), void *, unsigned, unsigned);
Launch launch = nullptr;           // GOMP_parallel
int (*team_size)() = nullptr;      // omp_get_num_threads

template <class F> void parallel(int64_t threads, F body) {
    struct Job {
        F &body;
        Barrier barrier;
        int wanted;
        std::atomic<int> next, started;
    } job{body, {}, int(threads), {0}, {0}};
    if (threads == 1) {
        job.barrier.threads = 1;
        return body(0, job.barrier);
    }
    if (launch) {
        // PyTorch's whole team, of which the first to come are taken: OpenMP ends and starts threads
        // where the size of a team changes from one region to the next.
        launch([](void *p) {
            Job &job = *static_cast<Job *>(p);
            int there = team_size(), n = job.wanted < there ? job.wanted : there;
            job.barrier.threads.store(n);
            int me = job.next.fetch_add(1);
            if (me < n) job.body(me, job.barrier);
        }, &job, 0, 0);
        return;
    }
    std::thread others[MAX_THREADS];
    int n = 1;
    try {
        for (; n < threads && n < MAX_THREADS; ++n)
            others[n] = std::thread([&job, n] {
                while (!job.started.load(std::memory_order_acquire)) std::this_thread::yield();
                job.body(n, job.barrier);
            });
    } catch (const std::system_error &) {
    }  // the system gives no more threads: go on with those we have
    job.barrier.threads = n;
    job.started.store(1, std::memory_order_release);
    body(0, job.barrier);
    for (int k = 1; k < n; ++k) others[k].join();
}

// The part of `n` things that thread `me` of `threads` owns.
struct Part {
    int64_t begin, end;
    Part(int64_t n, int64_t me, int64_t threads)
        : begin(n * me / threads), end(n * (me + 1) / threads) {}
};

extern "C" void lnlib_use(Launch l, int (*t)()) { launch = l; team_size = t; }
