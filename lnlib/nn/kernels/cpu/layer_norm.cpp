// Layer norm and RMS norm of rows, alone or of a sum, and their gradients, for the CPU.
//
// Built by layer_norm.py on the first use, with any C++17 compiler; no headers but those beside it and the
// standard library's. Python owns the memory but for scratch, and no error leaves this file.
//
// A few rows at a time pass through the caches once, forward and backward: what is added, the
// statistics, the output; the means, the gradient, and the columns' share of those of gain and bias.
// 16 bits are computed in float. What is kept of a row, and sums over rows, are double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "pages.h"
#include "threads.h"
#include "vectors.h"

// Rows at once: one waits while another is summed up. Backward reads and writes three arrays, and
// four rows of each, 4 KiB apart, would put one another out of the cache.
constexpr int FORWARD = 4, BACKWARD = 2;
constexpr int64_t OF_ONE_SUM = 64;  // rows whose columns are summed in the dtype of the computation

// Two dtypes of 16 bits, as many of them as there are floats in a vector.
typedef Vectors<float>::Vec Floats;
typedef uint16_t Halves __attribute__((vector_size(BYTES / 2)));

struct BFloat16 {
    typedef uint32_t Bits __attribute__((vector_size(BYTES)));
    uint16_t bits;
    static Floats widen(Halves h) { return (Floats)(__builtin_convertvector(h, Bits) << 16); }
    static Halves narrow(Floats v) {
        Bits b = (Bits)v, nearest = b + 0x7fff + ((b >> 16) & 1);  // between two, the even one
        return __builtin_convertvector((v == v ? nearest : b | 0x400000) >> 16, Halves);
    }
};

#if defined(__AVX512F__)
#define LNLIB_FLOAT16
struct Float16 {
    uint16_t bits;
    static Floats widen(Halves h) { return (Floats)_mm512_cvtph_ps((__m256i)h); }
    static Halves narrow(Floats v) {
        return (Halves)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
    }
};
#elif defined(__FLT16_MAX__)
#define LNLIB_FLOAT16
struct Float16 {
    uint16_t bits;
    static Floats widen(Halves h) {
        _Float16 f[Vectors<float>::L];
        memcpy(f, &h, sizeof f);
        Floats v;
        for (int k = 0; k < Vectors<float>::L; ++k) v[k] = f[k];
        return v;
    }
    static Halves narrow(Floats v) {
        _Float16 f[Vectors<float>::L];
        for (int k = 0; k < Vectors<float>::L; ++k) f[k] = v[k];
        Halves h;
        memcpy(&h, f, sizeof h);
        return h;
    }
};
#endif

// The names are those of layer_norm.py; what is missing is null. Arrays of the data's dtype are
// (rows, H); gain and bias (H) and their gradients are of that dtype too, or float if `wide`.
struct Call {
    int64_t rows, H, threads, centered, wide;
    double eps;
    const void *x, *residual;  // backward: x is what was normalized, the sum if there was one
    const void *gain, *bias;
    void *y, *sum;
    double *stats;             // (rows, 2): mean and rstd
    const void *dy = nullptr, *dsum = nullptr;
    void *dx = nullptr, *dgain = nullptr, *dbias = nullptr;
};

template <class D>  // of the data
struct Rows : Vectors<std::conditional_t<std::is_same_v<D, double>, double, float>> {
    typedef std::conditional_t<std::is_same_v<D, double>, double, float> T;
    using Base = Vectors<T>;
    using typename Base::Rest;
    using typename Base::Vec;
    using typename Base::Whole;
    using Base::add_up, Base::each, Base::L;
    static constexpr bool SINGLE = sizeof(T) == 4;
    // Squares of a LARGE row overflow: it is taken in a unit in which they do not, a power of 2,
    // which rounds nothing.
    static constexpr T UNIT = SINGLE ? T(0x1p-80) : T(0x1p-640);
    static constexpr double LARGE = SINGLE ? 0x1p-40 : 0x1p-320;  // the rstd of such a row

    const Call &call;
    const int64_t H;
    std::unique_ptr<T[]> made;  // gain and bias, where they are not there as T
    const T *gain, *bias;
    std::unique_ptr<double[]> sums;  // of each thread: of the columns of dgain, and of dbias;
    std::unique_ptr<T[]> parts;      // and of the last few rows
    bool ok = true;

    Rows(const Call &c, bool backward) : call(c), H(c.H) {
        made.reset(new (std::nothrow) T[2 * H]);
        bool columns = backward && (call.dgain || call.dbias);
        if (columns) {
            sums.reset(new (std::nothrow) double[call.threads * 2 * padded()]());
            parts.reset(new (std::nothrow) T[call.threads * 2 * padded()]());
        }
        ok = made && (!columns || (sums && parts));
        if (!ok) return;
        gain = parameter(call.gain, made.get(), 1);
        bias = parameter(call.bias, made.get() + H, 0);
    }

    int64_t padded() const { return (H + L - 1) / L * L; }

    const T *parameter(const void *given, T *room, T otherwise) const {
        if (given && (call.wide || std::is_same_v<D, T>)) return static_cast<const T *>(given);
        each(H, [&](int64_t j, auto how) {
            how.store(room + j, given ? get(how, static_cast<const D *>(given) + j)
                                      : Vec{} + otherwise);
        });
        return room;
    }

    // A vector of the row, filled up with zeros.
    template <class How> static Vec get(How how, const D *p) {
        if constexpr (std::is_same_v<D, T>) return how.load(p);
        else {
            Halves h = {};
            if constexpr (std::is_same_v<How, Whole>) memcpy(&h, p, sizeof h);
            else memcpy(&h, p, how.n * sizeof *p);
            return D::widen(h);
        }
    }
    // Write it, and return what was written.
    template <class How> static Vec put(How how, D *p, Vec v) {
        if constexpr (std::is_same_v<D, T>) {
            how.store(p, v);
            return v;
        } else {
            Halves h = D::narrow(v);
            if constexpr (std::is_same_v<How, Whole>) memcpy(p, &h, sizeof h);
            else memcpy(p, &h, how.n * sizeof *p);
            return how.only(D::widen(h));
        }
    }

    // f(first row, how many) for all rows of a thread.
    template <int N, class F> void rows(int64_t me, int64_t threads, F f) const {
        Part part(call.rows, me, threads);
        int64_t i = part.begin;
        for (; i + N <= part.end; i += N) f(i, std::integral_constant<int, N>());
        for (; i < part.end; ++i) f(i, std::integral_constant<int, 1>());
    }

    template <bool CENTERED, int N, bool IS_LARGE = false> void forward(int64_t i) const {
        constexpr T unit = IS_LARGE ? UNIT : T(1);
        bool added = IS_LARGE && call.residual;  // the first time
        const D *x = static_cast<const D *>(added ? call.sum : call.x) + i * H;
        D *y = static_cast<D *>(call.y) + i * H;
        Vec first[N] = {}, squares[N] = {};
        T mean[N] = {}, rest[N] = {}, rstd[N];
        bool large = false;
        auto value = [&](auto how, int64_t at) {
            Vec v = get(how, x + at);
            return IS_LARGE ? v * unit : v;
        };
        if (call.residual && !added) {
            const D *residual = static_cast<const D *>(call.residual) + i * H;
            D *sum = static_cast<D *>(call.sum) + i * H;
            each(H, [&](int64_t j, auto how) {
                for (int r = 0; r < N; ++r) {
                    int64_t at = r * H + j;
                    Vec v = put(how, sum + at, get(how, x + at) + get(how, residual + at));
                    first[r] += CENTERED ? v : v * v;
                }
            });
            x = sum;
        } else {
            each(H, [&](int64_t j, auto how) {
                for (int r = 0; r < N; ++r) {
                    Vec v = value(how, r * H + j);
                    first[r] += CENTERED ? v : v * v;
                }
            });
        }
        if constexpr (CENTERED) {
            // What rounding left out of the mean is found on the way: it is the mean of the rest.
            for (int r = 0; r < N; ++r) mean[r] = T(double(add_up(first[r])) / H), first[r] = Vec{};
            each(H, [&](int64_t j, auto how) {
                for (int r = 0; r < N; ++r) {
                    Vec v = how.only(value(how, r * H + j) - mean[r]);
                    first[r] += v;
                    squares[r] += v * v;
                }
            });
        }
        for (int r = 0; r < N; ++r) {
            double left = 0, var = double(add_up(CENTERED ? squares[r] : first[r])) / H;
            if constexpr (CENTERED) {
                left = double(add_up(first[r])) / H;
                var = std::max(var - left * left, 0.0);  // NaN stays NaN
            }
            double root = 1 / std::sqrt(var + call.eps * unit * unit);
            large |= !(root > 0);
            rest[r] = T(left), rstd[r] = T(root);
            double *stats = call.stats + 2 * (i + r);
            stats[0] = (mean[r] + left) / unit, stats[1] = root * unit;
        }
        if constexpr (!IS_LARGE) if (large) {
            for (int64_t k = i; k < i + N; ++k)
                if (call.stats[2 * k + 1] > 0) forward<CENTERED, 1>(k);
                else forward<CENTERED, 1, true>(k);
            return;
        }
        each(H, [&](int64_t j, auto how) {
            Vec g = how.load(gain + j), b = CENTERED ? how.load(bias + j) : Vec{};
            for (int r = 0; r < N; ++r) {
                Vec v = value(how, r * H + j);
                if constexpr (CENTERED) v = v - mean[r] - rest[r];
                v = v * rstd[r] * g;
                put(how, y + r * H + j, CENTERED ? v + b : v);
            }
        });
    }

    template <bool CENTERED, int N, bool IS_LARGE = false>
    void backward(int64_t i, T *dgain, T *dbias) const {
        auto is_large = [&](int64_t k) {
            return 0 < call.stats[2 * k + 1] && call.stats[2 * k + 1] < LARGE;
        };
        if constexpr (!IS_LARGE) {
            bool large = false;
            for (int64_t k = i; k < i + N; ++k) large |= is_large(k);
            for (int64_t k = i; large && k < i + N; ++k)
                if (is_large(k)) backward<CENTERED, 1, true>(k, dgain, dbias);
                else backward<CENTERED, 1>(k, dgain, dbias);
            if (large) return;
        }
        // For a root from 1 to 2: its third power neither overflows nor vanishes.
        const double unit = IS_LARGE ? std::ldexp(1, std::ilogb(call.stats[2 * i + 1])) : 1;
        const D *x = static_cast<const D *>(call.x) + i * H;
        const D *dy = static_cast<const D *>(call.dy) + i * H;
        const D *dsum = call.dsum ? static_cast<const D *>(call.dsum) + i * H : nullptr;
        D *dx = call.dx ? static_cast<D *>(call.dx) + i * H : nullptr;
        T mean[N], rest[N], rstd[N], shift[N], slope[N];
        Vec of_d[N] = {}, of_dx[N] = {};
        for (int r = 0; r < N; ++r) {
            const double *stats = call.stats + 2 * (i + r);
            double m = stats[0] * unit;
            mean[r] = T(m), rest[r] = T(m - mean[r]), rstd[r] = T(stats[1] / unit);
        }
        auto centered = [&](auto how, int r, int64_t j) {
            Vec v = get(how, x + r * H + j);
            if constexpr (IS_LARGE) v *= T(unit);
            if constexpr (CENTERED) v = v - mean[r] - rest[r];
            return v;
        };
        if (dx) each(H, [&](int64_t j, auto how) {
            Vec g = how.load(gain + j);
            for (int r = 0; r < N; ++r) {
                Vec d = get(how, dy + r * H + j) * g;  // 0 past the row
                if constexpr (CENTERED) of_d[r] += d;
                of_dx[r] += d * centered(how, r, j);
            }
        });
        for (int r = 0; r < N; ++r) {
            double root = call.stats[2 * (i + r) + 1] / unit;
            shift[r] = T(root * (double(add_up(of_d[r])) / H));
            slope[r] = T(root * root * root * (double(add_up(of_dx[r])) / H));
        }
        each(H, [&](int64_t j, auto how) {
            Vec g = how.load(gain + j), gains = {}, biases = {};
            for (int r = 0; r < N; ++r) {
                Vec d = get(how, dy + r * H + j), c = centered(how, r, j);
                if (dgain) gains += d * (c * rstd[r]), biases += d;
                if (!dx) continue;
                Vec v = d * g * rstd[r] - c * slope[r];
                if constexpr (CENTERED) v -= shift[r];
                if constexpr (IS_LARGE) v *= T(unit);
                if (dsum) v += get(how, dsum + r * H + j);
                put(how, dx + r * H + j, v);
            }
            if (!dgain) return;
            how.store(dgain + j, how.load(dgain + j) + gains);
            if constexpr (CENTERED) how.store(dbias + j, how.load(dbias + j) + biases);
        });
    }

    void gather(int which, void *to) const {
        if (!to) return;
        each(H, [&](int64_t j, auto how) {
            double all[L] = {};
            for (int64_t t = 0; t < call.threads; ++t)
                for (int k = 0; k < L; ++k)  // the room is that of whole vectors
                    all[k] += sums[(2 * t + which) * padded() + j + k];
            Vec v;
            for (int k = 0; k < L; ++k) v[k] = T(all[k]);
            if (call.wide) how.store(static_cast<T *>(to) + j, v);
            else put(how, static_cast<D *>(to) + j, v);
        });
    }

    template <bool CENTERED> void forward_all() const {
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            rows<FORWARD>(me, barrier.threads,
                          [&](int64_t i, auto n) { forward<CENTERED, n>(i); });
        });
    }

    template <bool CENTERED> void backward_all() const {
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            const int64_t size = 2 * padded();
            T *part = parts ? &parts[me * size] : nullptr;
            auto flush = [&] {
                for (int64_t k = 0; part && k < size; ++k)
                    sums[me * size + k] += part[k], part[k] = 0;
            };
            int64_t summed = 0;
            rows<BACKWARD>(me, barrier.threads, [&](int64_t i, auto n) {
                backward<CENTERED, n>(i, part, part ? part + padded() : nullptr);
                if ((summed += n) >= OF_ONE_SUM) flush(), summed = 0;
            });
            flush();
        });
        gather(0, call.dgain);
        gather(1, call.dbias);
    }

    static int run(const Call &call, bool backward) {
        Rows all(call, backward);
        if (!all.ok) return 1;
        for (void *p : {call.y, call.sum, call.dx})
            if (p) in_large_pages(p, call.rows * call.H * sizeof(D));
        if (backward) call.centered ? all.template backward_all<true>()
                                    : all.template backward_all<false>();
        else call.centered ? all.template forward_all<true>() : all.template forward_all<false>();
        return 0;
    }
};

// Return 0, or 1 where there is no memory for scratch.
#define LNLIB_ROWS(NAME, D)                                                                        \
    extern "C" int lnlib_forward_##NAME(                                                           \
        int64_t rows, int64_t H, int64_t threads, int64_t centered, int64_t wide, double eps,      \
        const void *x, const void *residual, const void *gain, const void *bias, void *y,          \
        void *sum, double *stats) {                                                                \
        return Rows<D>::run({rows, H, threads, centered, wide, eps, x, residual, gain, bias, y,    \
                             sum, stats}, false);                                                  \
    }                                                                                              \
    extern "C" int lnlib_backward_##NAME(                                                          \
        int64_t rows, int64_t H, int64_t threads, int64_t centered, int64_t wide, const void *x,   \
        const void *gain, double *stats, const void *dy, const void *dsum, void *dx, void *dgain,  \
        void *dbias) {                                                                             \
        return Rows<D>::run({rows, H, threads, centered, wide, 0, x, nullptr, gain, nullptr,       \
                             nullptr, nullptr, stats, dy, dsum, dx, dgain, dbias}, true);          \
    }
LNLIB_ROWS(float32, float)
LNLIB_ROWS(float64, double)
LNLIB_ROWS(bfloat16, BFloat16)
#if defined(LNLIB_FLOAT16)
LNLIB_ROWS(float16, Float16)
#endif
