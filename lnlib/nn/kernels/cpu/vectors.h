// Vectors for a row of numbers: the compiler's own (GCC and Clang), as wide as the target's
// registers.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__)
constexpr int BYTES = 64;  // of a vector
#elif defined(__AVX__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif

template <class T> struct Vectors {
    typedef T Vec __attribute__((vector_size(BYTES)));
    static constexpr int64_t L = BYTES / sizeof(T);

    // A row, vector by vector: whole ones, then what is left, filled up with zeros.

    struct Whole {
        Vec load(const T *p) const {
            Vec v;
            memcpy(&v, p, BYTES);
            return v;
        }
        void store(T *p, Vec v) const { memcpy(p, &v, BYTES); }
        Vec only(Vec v) const { return v; }
    };
    struct Rest {
        int64_t n;
#if defined(__AVX512F__)
        Vec load(const T *p) const {
            if constexpr (sizeof(T) == 4) return (Vec)_mm512_maskz_loadu_ps(mask(), p);
            else return (Vec)_mm512_maskz_loadu_pd(mask(), p);
        }
        void store(T *p, Vec v) const {
            if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(p, mask(), (__m512)v);
            else _mm512_mask_storeu_pd(p, mask(), (__m512d)v);
        }
        Vec only(Vec v) const {
            if constexpr (sizeof(T) == 4) return (Vec)_mm512_maskz_mov_ps(mask(), (__m512)v);
            else return (Vec)_mm512_maskz_mov_pd(mask(), (__m512d)v);
        }
        unsigned mask() const { return (1u << n) - 1; }
#else
        Vec load(const T *p) const {
            Vec v = {};
            for (int64_t k = 0; k < n; ++k) v[k] = p[k];
            return v;
        }
        void store(T *p, Vec v) const {
            for (int64_t k = 0; k < n; ++k) p[k] = v[k];
        }
        Vec only(Vec v) const {
            for (int64_t k = n; k < L; ++k) v[k] = 0;
            return v;
        }
#endif
    };

    template <class F> static inline void each(int64_t begin, int64_t end, F f) {
        int64_t i = begin;
        for (; i + L <= end; i += L) f(i, Whole());
        if (i < end) f(i, Rest{end - i});
    }
    template <class F> static inline void each(int64_t n, F f) { each(0, n, f); }

    // Half to half, as far as it goes: one after the other, each addition waits for the one before.
    static T add_up(Vec v) {
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 4) return _mm512_reduce_add_ps((__m512)v);
        else return _mm512_reduce_add_pd((__m512d)v);
#else
        T sums[L];
        memcpy(sums, &v, BYTES);
        for (int n = L / 2; n; n /= 2)
            for (int k = 0; k < n; ++k) sums[k] += sums[k + n];
        return sums[0];
#endif
    }
};
