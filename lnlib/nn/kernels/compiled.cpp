// The recurrences of plain.py and their gradients for the CPU, float and double.
//
// Built by compiled.py on the first use, with any C++17 compiler; no headers but those beside it and
// the standard library's. Python owns the memory, and no error leaves this file.
//
// A step is a product and then a loop over rows. Two ideas make it fast:
//
// - Each thread owns columns of the recurrent weights for the whole sequence, packed in the order
//   in which the product reads them. So they stay in the cache of its core.
// - What follows the product (norms, gates, cell; backward their gradients) passes once over a row
//   while the row is in the cache. Each thread takes some of the rows.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "threads.h"
#include "vectors.h"

#if defined(__AVX512F__)
constexpr int ROWS = 8;  // of a block of the product, whose 8 x 3 sums stay in registers
#else
constexpr int ROWS = 4;
#endif
constexpr int64_t PANEL = 3;       // vectors of columns of a block
constexpr int64_t DEPTH = 1024;    // terms of a sum at a time: rows that are read again stay cached

enum Kind : int64_t { LSTM, GRU, RNN };
enum Form : int64_t { PAPER, CARRIED, PER_GATE, DRAW, PARTS };

// The names are those of plain.py; compiled.py mirrors the order. G is the number of gates, N the
// rows of the packed sequences. Where `keep` is 0 the rows marked with * are those of one step.
struct Call {
    int64_t kind, form, relu, H, G, steps, first, last, threads, reverse, keep, pack;
    double eps;
    const int64_t *sizes;
    const void *inputs;               // (N, G H)
    void *outputs;                    // (N, H)
    const void *h0, *c0;              // (B, H)
    void *h, *c;                      // (B, H): before the call h0 and c0, after it the last states
    const void *weight;               // (G H, H)
    void *packed;                     // weight, in the order of the product
    const void *gain, *bias;          // (G H): of the norms of the hidden part or of the sum
    const void *gain_c, *bias_c;      // (H)
    void *summed;                     // (B, G H, padded): W_h h
    void *x_hat, *gates, *cells;      // (N*, G H) normalized, (N*, G H) activated, (N*, H) raw c
    void *stats;                      // (N*, 6): rstd of up to four norms, mean and rstd of c
    // Backward, for the steps from `first` to before `last`; their rows are counted from 0 in
    // dhidden and h_before.
    const void *dy;                   // (N, H)
    void *dh, *dc;                    // (B, H, padded), (B, H)
    void *dinputs;                    // (N, G H)
    void *dhidden, *h_before;         // (rows, G H), (rows, H): their product is dweight
    void *dgain, *dbias, *dgain_c, *dbias_c;  // (threads, G H) twice, (threads, H) twice
    void *scratch;                    // (threads, G H)
};

template <class T> struct Recurrence : Vectors<T> {
    using Base = Vectors<T>;
    using typename Base::Rest;
    using typename Base::Vec;
    using typename Base::Whole;
    using Base::add_up, Base::each, Base::L;

    // Four sums at a time: one alone waits for each addition.
    template <class F> static inline T total(int64_t n, F f) {
        Vec s[4] = {};
        int64_t j = 0;
        for (; j + 4 * L <= n; j += 4 * L)
            for (int k = 0; k < 4; ++k) s[k] += f(j + k * L, Whole());
        for (; j + L <= n; j += L) s[0] += f(j, Whole());
        if (j < n) s[1] += f(j, Rest{n - j});
        return add_up((s[0] + s[1]) + (s[2] + s[3]));
    }

    // sigmoid and tanh, to about one unit in the last place. NaN stays NaN: it fails every test.

    static Vec splat(T x) { return Vec{} + x; }
    static Vec clamp(Vec x, T bound) {
        Vec low = splat(-bound), high = splat(bound);
        x = x < low ? low : x;
        return x > high ? high : x;
    }

    static Vec divide(Vec a, Vec b) {
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<T, float>) {
            // An estimate of 1 / b to 14 bits and a step of Newton's: half the time of a division.
            Vec r = (Vec)_mm512_rcp14_ps((__m512)b);
            r = r * (splat(2) - b * r);
            Vec q = a * r;
            return q + r * (a - b * q);
        }
#endif
        return a / b;
    }

    // exp(x) = scale (1 + p): x = n log 2 + r, scale = 2^n, p = exp(r) - 1, a polynomial.
    static void split_exp(Vec x, Vec &scale, Vec &p) {
        typedef uint32_t Bits __attribute__((vector_size(BYTES)));
        const T magic = 12582912;  // 1.5 * 2^23: adding it rounds, and leaves n in the low bits
        Vec shifted = x * T(1.44269504088896341) + magic;
        Vec n = shifted - magic;
        Vec r = x - n * T(0.693359375) - n * T(-2.12194440e-4);
        p = splat(1.9875691500e-4);
        p = p * r + T(1.3981999507e-3);
        p = p * r + T(8.3334519073e-3);
        p = p * r + T(4.1665795894e-2);
        p = p * r + T(1.6666665459e-1);
        p = p * r + T(5.0000001201e-1);
        p = p * (r * r) + r;
        scale = (Vec)(((Bits)shifted + 127) << 23);
    }

    static Vec sigmoid(Vec x) {
        if constexpr (std::is_same_v<T, float>) {
            Vec scale, p;
            split_exp(-clamp(x, 87), scale, p);
            return divide(splat(1), scale * p + scale + 1);
        } else {
            for (int k = 0; k < L; ++k) x[k] = 1 / (1 + std::exp(-x[k]));
            return x;
        }
    }

    static Vec tanh(Vec x) {
        if constexpr (std::is_same_v<T, float>) {
            Vec scale, p;  // exp(2x) - 1, which keeps its digits where x is small
            split_exp(clamp(x * 2, 20), scale, p);
            Vec e = scale * p + (scale - 1);
            return divide(e, e + 2);
        } else {
            for (int k = 0; k < L; ++k) x[k] = std::tanh(x[k]);
            return x;
        }
    }

    // The product: out (M, columns) = a (M, K) times packed (K, columns).

    // One block of it. The constant sizes let the compiler hold every sum in a register.
    template <int M, int W>
    static void block(int64_t K, const T *a, int64_t lda, const T *w, T *out, int64_t ldo,
                      bool add) {
        Vec sum[M][W];
        Whole in;
        for (int m = 0; m < M; ++m)
            for (int v = 0; v < W; ++v) sum[m][v] = add ? in.load(out + m * ldo + v * L) : Vec{};
        for (int64_t k = 0; k < K; ++k, w += W * L) {
            Vec column[W];
            for (int v = 0; v < W; ++v) column[v] = in.load(w + v * L);
            for (int m = 0; m < M; ++m)
                for (int v = 0; v < W; ++v) sum[m][v] += a[m * lda + k] * column[v];
        }
        for (int m = 0; m < M; ++m)
            for (int v = 0; v < W; ++v) in.store(out + m * ldo + v * L, sum[m][v]);
    }

    template <int M, class... A> static void choose(int64_t m, int64_t w, A... args) {
        if constexpr (M > 0) {
            if (m < M) return choose<M - 1>(m, w, args...);
            if (w == 1) return block<M, 1>(args...);
            if (w == 2) return block<M, 2>(args...);
            return block<M, 3>(args...);
        }
    }

    // `columns` counts vectors; ldo has room for whole ones.
    static void product(int64_t M, int64_t K, const T *a, int64_t lda, const T *packed,
                        Part columns, T *out, int64_t ldo, bool add) {
        int64_t blocks = (M + ROWS - 1) / ROWS;
        for (int64_t k = 0; k < K; k += DEPTH)
            for (int64_t v = columns.begin; v < columns.end; v += PANEL) {
                int64_t w = columns.end - v < PANEL ? columns.end - v : PANEL;
                for (int64_t b = 0; b < blocks; ++b) {
                    Part rows(M, b, blocks);
                    choose<ROWS>(rows.end - rows.begin, w, K - k < DEPTH ? K - k : DEPTH,
                                 a + rows.begin * lda + k, lda, packed + v * L * K + k * w * L,
                                 out + rows.begin * ldo + v * L, ldo, add || k > 0);
                }
            }
    }

    // Panel after panel, (K, 3 vectors) each. The weight of term k and column j is at
    // weight[k * stride_k + j * stride_j]; columns beyond n are 0.
    static void pack(int64_t K, int64_t n, const T *weight, int64_t stride_k, int64_t stride_j,
                     T *packed, Part columns) {
        for (int64_t v = columns.begin; v < columns.end; v += PANEL) {
            int64_t w = (columns.end - v < PANEL ? columns.end - v : PANEL) * L;
            T *panel = packed + v * L * K;
            for (int64_t k0 = 0; k0 < K; k0 += 16)  // a few at a time: one side is always strided
                for (int64_t j = 0; j < w; ++j)
                    for (int64_t k = k0; k < K && k < k0 + 16; ++k) {
                        int64_t c = v * L + j;
                        panel[k * w + j] = c < n ? weight[k * stride_k + c * stride_j] : 0;
                    }
        }
    }

    // The norm of n numbers, eqs. 15-16, and its gradient.

    static T mean_of(const T *a, int64_t n) {
        return total(n, [&](int64_t j, auto in) { return in.load(a + j); }) / n;
    }
    static T rstd_of(const T *a, T mean, int64_t n, double eps) {
        // Not E[x^2] - E[x]^2: it cancels once |mean| >> std.
        T squares = total(n, [&](int64_t j, auto in) {
            Vec d = in.only(in.load(a + j) - mean);
            return d * d;
        });
        return T(1 / std::sqrt(squares / n + eps));
    }

    // Return rstd; x_hat may be a.
    static T standardize(const T *a, T *x_hat, int64_t n, double eps) {
        T mean = mean_of(a, n), rstd = rstd_of(a, mean, n, eps);
        each(n, [&](int64_t j, auto in) { in.store(x_hat + j, (in.load(a + j) - mean) * rstd); });
        return rstd;
    }

    // dx from dy; dgain and dbias grow. dx may be dy.
    static void norm_backward(const T *dy, const T *x_hat, T rstd, const T *gain, int64_t n,
                              T *dx, T *dgain, T *dbias) {
        Vec shifts = {}, slopes = {};
        each(n, [&](int64_t j, auto in) {
            Vec d = in.load(dy + j), x = in.load(x_hat + j), dx = d * in.load(gain + j);
            in.store(dgain + j, in.load(dgain + j) + d * x);
            in.store(dbias + j, in.load(dbias + j) + d);
            shifts += dx;
            slopes += dx * x;
        });
        T shift = add_up(shifts) / n, slope = add_up(slopes) / n;
        each(n, [&](int64_t j, auto in) {
            Vec d = in.load(dy + j) * in.load(gain + j);
            in.store(dx + j, (d - shift - in.load(x_hat + j) * slope) * rstd);
        });
    }

    // What a call's threads share.

    const Call &call;
    const int64_t H = call.H, GH = call.G * call.H;

    template <class P> static T *at(P *p, int64_t index) {
        return const_cast<T *>(static_cast<const T *>(p)) + index;
    }
    static int64_t padded(int64_t n) { return (n + L - 1) / L * L; }

    // The norms of a row of the G H summed inputs: how many, and where each begins.
    int64_t norms() const {
        if (call.form == DRAW) return 0;
        if (call.form == PER_GATE) return 4;
        return call.kind == GRU ? 2 : 1;
    }
    int64_t begin(int64_t norm) const {
        if (norm == norms()) return GH;
        return norm * (call.kind == GRU ? 2 * H : H);
    }
    // Whether the inputs are added before the norm, and not after it.
    bool sum_first() const {
        return call.form == PER_GATE || (call.kind == RNN && call.form == PAPER);
    }

    // Where the state lies that row r of step t began with, in a buffer of all steps.
    const T *before(const void *states, const void *initial, int64_t t, int64_t row,
                    int64_t r) const {
        int64_t from = call.reverse ? t + 1 : t - 1;
        if (from < 0 || from >= call.steps || r >= call.sizes[from]) return at(initial, r * H);
        return at(states, (row + (call.reverse ? call.sizes[t] : -call.sizes[from])) * H);
    }

    // Ask for a part of the next row, one of all steps, while this one is computed.
    void fetch(const T *next) const {
        for (int64_t k = 0; k < call.G; ++k) __builtin_prefetch(next + k * H);
    }

    void run_forward() const {
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            Part columns(padded(GH) / L, me, barrier.threads);
            pack(H, GH, at(call.weight, 0), 1, H, at(call.packed, 0), columns);
            int64_t row = 0;
            if (call.reverse)
                for (int64_t t = 0; t < call.steps; ++t) row += call.sizes[t];
            for (int64_t k = 0; k < call.steps; ++k) {
                int64_t t = call.reverse ? call.steps - 1 - k : k;
                int64_t running = call.sizes[t];
                if (call.reverse) row -= running;
                product(running, H, at(call.h, 0), H, at(call.packed, 0), columns,
                        at(call.summed, 0), padded(GH), false);
                barrier.wait();
                Part rows(running, me, barrier.threads);
                for (int64_t r = rows.begin; r < rows.end; ++r) forward(row + r, r);
                barrier.wait();
                if (!call.reverse) row += running;
            }
        });
    }

    void run_backward() const {
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            Part columns(padded(H) / L, me, barrier.threads);
            if (call.pack) pack(GH, H, at(call.weight, 0), H, 1, at(call.packed, 0), columns);
            int64_t start = 0, rows_here = 0;
            for (int64_t t = 0; t < call.first; ++t) start += call.sizes[t];
            for (int64_t t = call.first; t < call.last; ++t) rows_here += call.sizes[t];
            int64_t row = call.reverse ? start : start + rows_here;
            for (int64_t k = 0; k < call.last - call.first; ++k) {
                int64_t t = call.reverse ? call.first + k : call.last - 1 - k;
                int64_t running = call.sizes[t];
                if (!call.reverse) row -= running;
                Part rows(running, me, barrier.threads);
                for (int64_t r = rows.begin; r < rows.end; ++r)
                    backward(t, row + r, r, row + r - start, me);
                barrier.wait();
                product(running, GH, at(call.dhidden, (row - start) * GH), GH, at(call.packed, 0),
                        columns, at(call.dh, 0), padded(H), call.kind == GRU);
                barrier.wait();
                if (call.reverse) row += running;
            }
        });
    }

    // One row of one step.

    void forward(int64_t row, int64_t r) const {
        int64_t kept = call.keep ? row : r;
        const T *x = at(call.inputs, row * GH);
        const T *gain = at(call.gain, 0), *bias = at(call.bias, 0);
        T *a = at(call.summed, r * padded(GH)), *x_hat = at(call.x_hat, kept * GH);
        T *h = at(call.h, r * H), *y = at(call.outputs, row * H), *stats = at(call.stats, kept * 6);
        if (sum_first())
            each(GH, [&](int64_t j, auto in) { in.store(a + j, in.load(a + j) + in.load(x + j)); });
        if (norms() == 0) x_hat = a;
        for (int64_t k = 0; k < norms(); ++k) {
            int64_t j = begin(k);
            stats[k] = standardize(a + j, x_hat + j, begin(k + 1) - j, call.eps);
        }
        auto normalized = [&](int64_t j, auto in) {
            return in.load(x_hat + j) * in.load(gain + j) + in.load(bias + j);
        };
        auto gate = [&](int64_t j, auto in) {
            if (call.form == DRAW) return in.load(x + j) + in.load(a + j);
            return sum_first() ? normalized(j, in) : in.load(x + j) + normalized(j, in);
        };
        if (call.kind == RNN) {
            each(H, [&](int64_t j, auto in) {
                Vec n = gate(j, in);
                if (call.relu) n = n < 0 ? Vec{} : n; else n = tanh(n);
                in.store(h + j, n);
                in.store(y + j, n);
            });
            return;
        }
        T *gates = at(call.gates, kept * GH);
        if (call.kind == GRU) {
            each(H, [&](int64_t j, auto in) {
                fetch(x + GH + j);
                Vec R = sigmoid(gate(j, in)), z = sigmoid(gate(H + j, in));
                Vec n = tanh(in.load(x + 2 * H + j) + R * normalized(2 * H + j, in));
                Vec before = in.load(h + j), after = before + z * (n - before);
                in.store(gates + j, R);
                in.store(gates + H + j, z);
                in.store(gates + 2 * H + j, n);
                in.store(h + j, after);
                in.store(y + j, after);
            });
            return;
        }
        T *c = at(call.c, r * H), *cell = at(call.cells, kept * H);
        const T *gain_c = at(call.gain_c, 0), *bias_c = at(call.bias_c, 0);
        each(H, [&](int64_t j, auto in) {
            fetch(x + GH + j);
            Vec i = sigmoid(gate(j, in)), f = sigmoid(gate(H + j, in));
            Vec g = tanh(gate(2 * H + j, in)), o = sigmoid(gate(3 * H + j, in));
            Vec next = f * in.load(c + j) + i * g;
            in.store(gates + j, i);
            in.store(gates + H + j, f);
            in.store(gates + 2 * H + j, g);
            in.store(gates + 3 * H + j, o);
            in.store(cell + j, next);
        });
        T mean = mean_of(cell, H), rstd = rstd_of(cell, mean, H, call.eps);
        stats[4] = mean;
        stats[5] = rstd;
        each(H, [&](int64_t j, auto in) {
            Vec raw = in.load(cell + j);
            Vec n = (raw - mean) * rstd * in.load(gain_c + j) + in.load(bias_c + j);
            in.store(c + j, call.form == CARRIED ? n : raw);
            Vec out = in.load(gates + 3 * H + j) * tanh(n);
            in.store(h + j, out);
            in.store(y + j, out);
        });
    }

    void backward(int64_t t, int64_t row, int64_t r, int64_t local, int64_t me) const {
        const T *dy = at(call.dy, row * H), *x_hat = at(call.x_hat, row * GH);
        const T *stats = at(call.stats, row * 6);
        const T *gain = at(call.gain, 0), *bias = at(call.bias, 0);
        const T *h = before(call.outputs, call.h0, t, row, r);
        T *dh = at(call.dh, r * padded(H)), *dx = at(call.dinputs, row * GH);
        T *dhidden = at(call.dhidden, local * GH);
        memcpy(at(call.h_before, local * H), h, H * sizeof(T));
        // The gradient of the gates is that of the inputs, unless the norm is still to come.
        T *dgates = sum_first() ? dhidden : dx;
        const T *dnorm = dgates;
        if (call.kind == RNN) {
            const T *y = at(call.outputs, row * H);
            each(H, [&](int64_t j, auto in) {
                Vec n = in.load(y + j), d = in.load(dh + j) + in.load(dy + j);
                if (call.relu) d = n > 0 ? d : n * 0; else d *= 1 - n * n;
                in.store(dgates + j, d);
            });
        } else if (call.kind == GRU) {
            const T *gates = at(call.gates, row * GH);
            T *dn = at(call.scratch, me * GH);  // of the norms: as the gates', but for n
            dnorm = dn;
            each(H, [&](int64_t j, auto in) {
                int64_t k = 2 * H + j;
                Vec R = in.load(gates + j), z = in.load(gates + H + j), n = in.load(gates + k);
                Vec normalized = in.load(x_hat + k) * in.load(gain + k) + in.load(bias + k);
                Vec d = in.load(dh + j) + in.load(dy + j);
                Vec d_n = d * z * (1 - n * n), d_z = d * (n - in.load(h + j)) * z * (1 - z);
                Vec d_r = d_n * normalized * R * (1 - R);
                in.store(dx + j, d_r);
                in.store(dx + H + j, d_z);
                in.store(dx + k, d_n);
                in.store(dn + j, d_r);
                in.store(dn + H + j, d_z);
                in.store(dn + k, d_n * R);
                in.store(dh + j, d * (1 - z));  // the product is added to it
            });
        } else {
            lstm_gates_backward(t, row, r, me, dgates);
        }
        if (norms() == 0) memcpy(dhidden, dgates, GH * sizeof(T));
        for (int64_t k = 0; k < norms(); ++k) {
            int64_t j = begin(k);
            norm_backward(dnorm + j, x_hat + j, stats[k], gain + j, begin(k + 1) - j, dhidden + j,
                          at(call.dgain, me * GH + j), at(call.dbias, me * GH + j));
        }
        if (sum_first()) memcpy(dx, dhidden, GH * sizeof(T));
    }

    void lstm_gates_backward(int64_t t, int64_t row, int64_t r, int64_t me, T *dgates) const {
        const T *gates = at(call.gates, row * GH), *cell = at(call.cells, row * H);
        const T *c = before(call.cells, call.c0, t, row, r), *gain_c = at(call.gain_c, 0);
        const T *bias_c = at(call.bias_c, 0), *dy = at(call.dy, row * H);
        const T *dh = at(call.dh, r * padded(H));
        T *dc = at(call.dc, r * H), *x_hat = at(call.scratch, me * GH), *d_c = x_hat + H;
        const T mean = at(call.stats, row * 6)[4], rstd = at(call.stats, row * 6)[5];
        bool carried = call.form == CARRIED;
        each(H, [&](int64_t j, auto in) {
            Vec x = (in.load(cell + j) - mean) * rstd, o = in.load(gates + 3 * H + j);
            Vec y = tanh(x * in.load(gain_c + j) + in.load(bias_c + j));
            Vec d = in.load(dh + j) + in.load(dy + j), d_y = d * o * (1 - y * y);
            in.store(dgates + 3 * H + j, d * y * o * (1 - o));
            in.store(d_c + j, carried ? d_y + in.load(dc + j) : d_y);
            in.store(x_hat + j, x);
        });
        norm_backward(d_c, x_hat, rstd, gain_c, H, d_c, at(call.dgain_c, me * H),
                      at(call.dbias_c, me * H));
        // Of the cell before, only the raw one is kept: normalize it again where that was carried.
        bool again = carried && c != at(call.c0, r * H);
        const T *stats = again ? at(call.stats, (c - at(call.cells, 0)) / H * 6) : nullptr;
        each(H, [&](int64_t j, auto in) {
            Vec i = in.load(gates + j), f = in.load(gates + H + j), g = in.load(gates + 2 * H + j);
            Vec d = in.load(d_c + j), c_before = in.load(c + j);
            if (!carried) d += in.load(dc + j);
            if (again) {
                Vec x = (c_before - stats[4]) * stats[5];
                c_before = x * in.load(gain_c + j) + in.load(bias_c + j);
            }
            in.store(dgates + j, d * g * i * (1 - i));
            in.store(dgates + H + j, d * c_before * f * (1 - f));
            in.store(dgates + 2 * H + j, d * i * (1 - g * g));
            in.store(dc + j, d * f);
        });
    }
};

extern "C" {
int64_t lnlib_lanes(int64_t bytes) { return BYTES / bytes; }
void lnlib_forward_4(const Call *call) { Recurrence<float>{{}, *call}.run_forward(); }
void lnlib_forward_8(const Call *call) { Recurrence<double>{{}, *call}.run_forward(); }
void lnlib_backward_4(const Call *call) { Recurrence<float>{{}, *call}.run_backward(); }
void lnlib_backward_8(const Call *call) { Recurrence<double>{{}, *call}.run_backward(); }
}
