// The recurrences of reference.py and their gradients for the CPU, float and double.
//
// Built by recurrent.py on the first use, with any C++17 compiler; no headers but those beside it and
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

#include "pages.h"
#include "threads.h"
#include "vectors.h"

#if defined(__AVX512F__)
constexpr int ROWS = 8;  // of a block of the product, whose 8 x 3 sums stay in registers
#else
constexpr int ROWS = 4;
#endif
constexpr int64_t PANEL = 3;    // vectors of columns of a block
constexpr int64_t NEAR = 128;   // terms of a sum at a time: their weights stay in the first cache,
constexpr int64_t FAR = 1024;   // and the rows with so many in the second
constexpr int64_t SPAN = 64;    // rows of the inputs at a time
constexpr int64_t GROUP = 4;    // rows that are taken together: one waits while another is summed up

enum Kind : int64_t { LSTM, GRU, RNN };
enum Form : int64_t { PAPER, CARRIED, PER_GATE, DRAW, PARTS };

// The names are those of reference.py; recurrent.py mirrors the order. G is the number of gates, N the
// rows of the packed sequences, I the features of the data. A call takes the steps from `first` to
// before `last`; in what is marked with + the rows are counted from the first of these steps. Where
// `keep` is 0 the rows of what is marked with * are those of one step.
struct Call {
    int64_t kind, form, relu, norm_x, H, G, I, steps, first, last, threads, reverse, keep, pack;
    const int64_t *sizes;
    // The inputs W_x x, still to be normalized if norm_x is 1: (N, inputs_stride), or where
    // span > 0, room for so many of these rows. `multiply` says whether they are still to be made.
    const void *inputs;
    int64_t inputs_stride, span, multiply;
    const void *data, *weight_x;      // (N, I), (G H, I)
    void *packed_x;                   // weight_x, in the order of the product
    void *outputs;                    // (N, H)
    const void *h0, *c0;              // (B, H)
    void *h, *c;                      // (B, H): before a call the states, and after it
    const void *weight;               // (G H, H)
    void *packed;                     // weight, in the order of the product
    const void *gain;                 // (G H): of the norms of the hidden part or of the sum
    const void *bias;                 // (G H): of all norms together; GRU's (4 H), as x's of n is last
    const void *b;                    // (G H): beside inputs that are added first
    const void *gain_x;               // (G H): of the norms of the inputs
    const void *gain_c, *bias_c;      // (H)
    void *summed;                     // (N*, G H, padded): W_h h, or where that is used, the sum
    void *cells;                      // (N, H): raw c
    void *stats;                      // (N*, STATS)
    void *scratch;                    // (threads, 5 H)
    // Backward.
    const void *dy;                   // (+, H)
    void *dh, *dc;                    // (B, H, padded), (B, H)
    void *dinputs;                    // (+, G H)
    void *dhidden, *h_before;         // (+, G H), (+, H): their product is dweight
    void *dgain, *dbias, *dgain_x, *dgain_c, *dbias_c;  // of one thread; the next is `stride` on
    int64_t stride;
};

// Of a row, mean and rstd of: up to four norms of the hidden part, two of the inputs, c.
constexpr int64_t OF_X = 8, OF_C = 12, STATS = 14;

template <class T> struct Recurrence : Vectors<T> {
    using Base = Vectors<T>;
    using typename Base::Rest;
    using typename Base::Vec;
    using typename Base::Whole;
    using Base::add_up, Base::each, Base::L;

    // sigmoid and tanh, to about one unit in the last place. NaN stays NaN: it fails every test.

    static Vec splat(T x) { return Vec{} + x; }
    static Vec clamp(Vec x, T bound) {
        Vec low = splat(-bound), high = splat(bound);
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<T, float>)  // of two, the second where one is NaN
            return (Vec)_mm512_min_ps((__m512)high, _mm512_max_ps((__m512)low, (__m512)x));
#endif
        x = x < low ? low : x;
        return x > high ? high : x;
    }

    static Vec divide(Vec a, Vec b) {
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<T, float>) {
            // An estimate of 1 / b to 14 bits and a step of Newton's: half the time of a division.
            Vec r = (Vec)_mm512_rcp14_ps((__m512)b);
            return a * (r + r * (1 - b * r));
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

    // In a register: GCC would read it again for each sum, and loads would take longer than sums.
    static Vec keep(Vec v) {
#if defined(__x86_64__)
        asm("" : "+v"(v));
#endif
        return v;
    }

    // One block of it. The constant sizes let the compiler hold every sum in a register.
    template <int M, int W>
    static void block(int64_t K, const T *a, int64_t lda, const T *w, T *out, int64_t ldo,
                      bool add) {
        Vec sum[M][W];
        Whole in;
        for (int m = 0; m < M; ++m)  // fetched while the sums are made
            for (int v = 0; v < W; ++v) __builtin_prefetch(out + m * ldo + v * L, 1);
        for (int m = 0; m < M; ++m)
            for (int v = 0; v < W; ++v) sum[m][v] = add ? in.load(out + m * ldo + v * L) : Vec{};
#pragma GCC unroll 4
        for (int64_t k = 0; k < K; ++k, w += W * L) {
            Vec column[W];
            for (int v = 0; v < W; ++v) column[v] = keep(in.load(w + v * L));
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
        // Where several blocks share weights from beyond the second cache, each asks for some.
        bool ask = blocks > 3 && K * (columns.end - columns.begin) * BYTES > 1 << 20;
        for (int64_t far = 0; far < K; far += FAR)
            for (int64_t v = columns.begin; v < columns.end; v += PANEL) {
                int64_t w = columns.end - v < PANEL ? columns.end - v : PANEL;
                for (int64_t k = far; k < K && k < far + FAR; k += NEAR) {
                    int64_t depth = K - k < NEAR ? K - k : NEAR;
                    const T *weights = packed + (v * K + k * w) * L, *next = weights + depth * w * L;
                    for (int64_t b = 0; b < blocks; ++b) {
                        Part rows(M, b, blocks), ahead(depth * w, b, blocks);
                        for (int64_t i = ahead.begin; i < ahead.end && ask; ++i)
                            __builtin_prefetch(next + i * L, 0, 2);
                        choose<ROWS>(rows.end - rows.begin, w, depth, a + rows.begin * lda + k,
                                     lda, weights, out + rows.begin * ldo + v * L, ldo,
                                     add || k > 0);
                    }
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

    // Sum up f(row, j) for up to GROUP rows at once: of one sum alone each addition waits.
    template <class F> static void totals(int64_t rows, int64_t n, T *sums, F f) {
        Vec s[GROUP] = {};
        each(n, [&](int64_t j, auto in) {
            for (int64_t r = 0; r < GROUP; ++r) s[r] += f(r < rows ? r : 0, j, in);
        });
        for (int64_t r = 0; r < rows; ++r) sums[r] = add_up(s[r]);
    }

    // The statistics of rows of n numbers, eq. 16: mean and 1 / sqrt(var + eps).
    void moments(const T *a, int64_t stride, int64_t rows, int64_t n, T *stats) const {
        T sums[GROUP];
        totals(rows, n, sums, [&](int64_t r, int64_t j, auto in) {
            return in.load(a + r * stride + j);
        });
        for (int64_t r = 0; r < rows; ++r) stats[r * STATS] = sums[r] / n;
        rstds(a, stride, rows, n, stats);
    }
    void rstds(const T *a, int64_t stride, int64_t rows, int64_t n, T *stats) const {
        // Not E[x^2] - E[x]^2: it cancels once |mean| >> std.
        T sums[GROUP];
        totals(rows, n, sums, [&](int64_t r, int64_t j, auto in) {
            Vec d = in.only(in.load(a + r * stride + j) - stats[r * STATS]);
            return d * d;
        });
        for (int64_t r = 0; r < rows; ++r)
            stats[r * STATS + 1] = T(1 / std::sqrt(sums[r] / n + eps));
    }

    // What a call's threads share.

    const Call &call;
    const double eps;  // inside the root
    const int64_t H = call.H, GH = call.G * call.H;

    template <class P> static T *at(P *p, int64_t index) {
        return const_cast<T *>(static_cast<const T *>(p)) + index;
    }
    static int64_t padded(int64_t n) { return (n + L - 1) / L * L; }

    // The norms of a row of the G H summed inputs: how many, and which is that of a gate.
    int64_t norms() const {
        if (call.form == DRAW) return 0;
        if (call.form == PER_GATE) return 4;
        return call.kind == GRU ? 2 : 1;
    }
    int64_t norm_of(int64_t gate) const {
        if (call.form == PER_GATE) return gate;
        return call.kind == GRU && gate == 2;
    }
    int64_t begin(int64_t norm) const {
        if (norm == norms()) return GH;
        return norm * (call.kind == GRU ? 2 * H : H);
    }
    // Whether the inputs are added before the norm, or without one, and not after it.
    bool sum_first() const {
        return call.form == PER_GATE || call.form == DRAW ||
               (call.kind == RNN && call.form == PAPER);
    }

    // Where the state lies that row r of step t began with, in a buffer of all steps.
    const T *before(const void *states, const void *initial, int64_t t, int64_t row,
                    int64_t r) const {
        int64_t from = call.reverse ? t + 1 : t - 1;
        if (from < 0 || from >= call.steps || r >= call.sizes[from]) return at(initial, r * H);
        return at(states, (row + (call.reverse ? call.sizes[t] : -call.sizes[from])) * H);
    }

    // Walk over the steps: body(t, running sequences, their first row).
    template <class F> void walk(bool last_first, F body) const {
        int64_t row = begin_of(last_first ? call.last : call.first);
        for (int64_t k = 0; k < call.last - call.first; ++k) {
            int64_t t = last_first ? call.last - 1 - k : call.first + k;
            if (last_first) row -= call.sizes[t];
            body(t, call.sizes[t], row);
            if (!last_first) row += call.sizes[t];
        }
    }
    int64_t begin_of(int64_t step) const {
        int64_t row = 0;
        for (int64_t t = 0; t < step; ++t) row += call.sizes[t];
        return row;
    }

    // The rows of the inputs that are there. One thread makes some columns of them.
    struct Inputs {
        const Recurrence &of;
        Part columns;
        bool last_first;
        int64_t begin = 0, end = 0;  // rows

        // Have those of step t, which begins at `row`, and where there is room, of the next steps.
        void need(int64_t t, int64_t row) {
            const Call &call = of.call;
            if (!call.span && !call.multiply) end = INT64_MAX;
            if (row >= begin && row < end) return;
            int64_t running = call.sizes[t], rows = running;
            int64_t room = call.span ? call.span : (running > SPAN ? running : SPAN);
            for (;;) {
                t += last_first ? -1 : 1;
                if (t < call.first || t >= call.last || rows + call.sizes[t] > room) break;
                rows += call.sizes[t];
            }
            begin = last_first ? row + running - rows : row;
            end = begin + rows;
            product(rows, call.I, at(call.data, begin * call.I), call.I, at(call.packed_x, 0),
                    columns, at(call.inputs, place(begin) * call.inputs_stride),
                    call.inputs_stride, false);
        }
        int64_t place(int64_t row) const { return of.call.span ? row - begin : row; }
    };

    void pack_inputs(Part columns) const {
        if (call.pack && call.multiply)
            pack(call.I, GH, at(call.weight_x, 0), 1, call.I, at(call.packed_x, 0), columns);
    }

    void run_forward() const {
        if (call.pack) in_large_pages(call.packed, padded(GH) * H * sizeof(T));
        if (call.keep) in_large_pages(call.summed, begin_of(call.steps) * padded(GH) * sizeof(T));
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            Part columns(padded(GH) / L, me, barrier.threads);
            if (call.pack) pack(H, GH, at(call.weight, 0), 1, H, at(call.packed, 0), columns);
            pack_inputs(columns);
            Inputs inputs{*this, columns, call.reverse != 0};
            walk(call.reverse, [&](int64_t t, int64_t running, int64_t row) {
                int64_t kept = call.keep ? row : 0;
                inputs.need(t, row);
                product(running, H, at(call.h, 0), H, at(call.packed, 0), columns,
                        at(call.summed, kept * padded(GH)), padded(GH), false);
                barrier.wait();
                Part rows(running, me, barrier.threads);
                for (int64_t r = rows.begin; r < rows.end; r += GROUP) {
                    int64_t end = r + GROUP < rows.end ? r + GROUP : rows.end;
                    Rows group{r, end, row, inputs.place(row), kept, me};
                    if (sum_first()) forward<false>(group); else forward<true>(group);
                }
                barrier.wait();
            });
        });
    }

    void run_backward() const {
        if (call.pack) in_large_pages(call.packed, padded(H) * GH * sizeof(T));
        parallel(call.threads, [&](int64_t me, Barrier &barrier) {
            Part columns(padded(H) / L, me, barrier.threads);
            Part wide(padded(GH) / L, me, barrier.threads);
            if (call.pack) pack(GH, H, at(call.weight, 0), H, 1, at(call.packed, 0), columns);
            pack_inputs(wide);
            int64_t start = begin_of(call.first);
            Inputs inputs{*this, wide, !call.reverse};
            walk(!call.reverse, [&](int64_t t, int64_t running, int64_t row) {
                if (!sum_first()) {
                    int64_t end = inputs.end, begin = inputs.begin;
                    inputs.need(t, row);
                    if (call.multiply && (end != inputs.end || begin != inputs.begin))
                        barrier.wait();
                }
                Part rows(running, me, barrier.threads);
                // The step before has at least as many rows, but for the other direction.
                int64_t leap = (call.reverse ? running : -running) - (rows.end - rows.begin) + 1;
                for (int64_t r = rows.begin; r < rows.end; ++r) {
                    Row one{t, row + r, r, row + r - start, inputs.place(row) + r, me,
                            r + 1 < rows.end ? 1 : leap};
                    if (sum_first()) backward<false>(one); else backward<true>(one);
                }
                barrier.wait();
                product(running, GH, at(call.dhidden, (row - start) * GH), GH, at(call.packed, 0),
                        columns, at(call.dh, 0), padded(H), call.kind == GRU);
                barrier.wait();
            });
        });
    }

    // Rows of one step from r to before end: row 0 is `row` of all, `input` of the inputs, `kept`
    // of what is marked with *.
    struct Rows {
        int64_t r, end, row, input, kept, me;
    };
    // Row r of step t: `row` of all, `local` of those of the call, `input` of the inputs; the one
    // that comes next lies `next` rows on.
    struct Row {
        int64_t t, row, r, local, input, me, next;
    };

    // A row of summed inputs as the gates see it. X says whether the inputs have a part of their
    // own, with a norm or without; else they are in `summed`.
    template <bool X> struct Summed {
        const T *a, *x, *gain, *gain_x, *bias;
        int64_t H, stride, stride_x;
        T stats[4][4];  // for each gate: mean and rstd of the hidden part, and of the inputs

        // Ask for what another row has of a gate, while this row is computed.
        void fetch(int64_t rows, int64_t gate, int64_t j) const {
            __builtin_prefetch(a + rows * stride + gate * H + j);
            if (X) __builtin_prefetch(x + rows * stride_x + gate * H + j);
        }

        Summed(const Recurrence &of, int64_t kept, int64_t input)
            : a(at(of.call.summed, kept * padded(of.GH))), 
              x(at(of.call.inputs, input * of.call.inputs_stride)),
              gain(at(of.call.gain, 0)), gain_x(at(of.call.gain_x, 0)), bias(at(of.call.bias, 0)),
              H(of.H), stride(padded(of.GH)), stride_x(of.call.inputs_stride) {
            const T *found = at(of.call.stats, kept * STATS);
            for (int64_t gate = 0; gate < of.call.G; ++gate) {
                int64_t norm = of.norm_of(gate);
                memcpy(stats[gate], found + 2 * norm, 2 * sizeof(T));
                if (X) memcpy(stats[gate] + 2, found + OF_X + 2 * norm, 2 * sizeof(T));
            }
        }
        template <class In> Vec hidden(int64_t gate, int64_t j, In in) const {
            return (in.load(a + gate * H + j) - stats[gate][0]) * stats[gate][1];
        }
        template <class In> Vec inputs(int64_t gate, int64_t j, In in) const {
            return (in.load(x + gate * H + j) - stats[gate][2]) * stats[gate][3];
        }
        template <class In> Vec gained(Vec x_hat, int64_t gate, int64_t j, In in) const {
            return x_hat * in.load(gain + gate * H + j) + in.load(bias + gate * H + j);
        }
        template <class In> Vec both(Vec hidden, Vec inputs, int64_t gate, int64_t j, In in) const {
            Vec sum = gained(hidden, gate, j, in);
            return X ? sum + inputs * in.load(gain_x + gate * H + j) : sum;
        }
        template <class In> Vec gate(int64_t gate, int64_t j, In in) const {
            return both(hidden(gate, j, in), X ? inputs(gate, j, in) : Vec{}, gate, j, in);
        }
    };

    Vec activate(Vec x) const {
        if (!call.relu) return tanh(x);
        return x < 0 ? Vec{} : x;
    }

    // Find the statistics of the rows.
    template <bool X> void prepare(const Rows &rows) const {
        int64_t n = rows.end - rows.r, wide = padded(GH), stride = call.inputs_stride;
        T *a = at(call.summed, (rows.kept + rows.r) * wide);
        T *stats = at(call.stats, (rows.kept + rows.r) * STATS);
        const T *x = at(call.inputs, (rows.input + rows.r) * stride), *b = at(call.b, 0);
        for (int64_t r = 0; r < n && !X; ++r)
            each(GH, [&](int64_t j, auto in) {
                T *sum = a + r * wide + j;
                in.store(sum, in.load(sum) + (in.load(x + r * stride + j) + in.load(b + j)));
            });
        for (int64_t r = 0; r < n; ++r)
            for (int64_t k = 0; k < OF_C; ++k) stats[r * STATS + k] = k % 2;  // as without a norm
        for (int64_t k = 0; k < norms(); ++k) {
            int64_t j = begin(k), length = begin(k + 1) - j;
            moments(a + j, wide, n, length, stats + 2 * k);
            if (X && call.norm_x) moments(x + j, stride, n, length, stats + OF_X + 2 * k);
        }
    }

    template <bool X> void forward(const Rows &rows) const {
        prepare<X>(rows);
        if (call.kind == LSTM) return lstm_forward<X>(rows);
        for (int64_t r = rows.r; r < rows.end; ++r) {
            Summed<X> s(*this, rows.kept + r, rows.input + r);
            T *h = at(call.h, r * H), *y = at(call.outputs, (rows.row + r) * H);
            each(H, [=](int64_t j, auto in) {
                Vec after;
                if (call.kind == RNN) {
                    after = activate(s.gate(0, j, in));
                } else {
                    Vec R = sigmoid(s.gate(0, j, in)), z = sigmoid(s.gate(1, j, in));
                    Vec n = tanh(candidate(s, R, s.hidden(2, j, in), j, in)), h_j = in.load(h + j);
                    after = h_j + z * (n - h_j);
                }
                in.store(h + j, after);
                in.store(y + j, after);
            });
        }
    }

    // What the n of a GRU is the tanh of, eq. 27.
    template <bool X, class In>
    Vec candidate(const Summed<X> &s, Vec R, Vec hidden, int64_t j, In in) const {
        int64_t k = 2 * H + j;
        Vec inputs = s.inputs(2, j, in) * in.load(s.gain_x + k) + in.load(s.bias + 3 * H + j);
        return inputs + R * s.gained(hidden, 2, j, in);
    }

    template <bool X> void lstm_forward(const Rows &rows) const {
        const T *gain_c = at(call.gain_c, 0), *bias_c = at(call.bias_c, 0);
        // Where the gates' backward pass needs none, the cell is the state itself.
        auto cell_of = [&](int64_t r) {
            return call.keep ? at(call.cells, (rows.row + r) * H) : at(call.c, r * H);
        };
        auto o_of = [&](int64_t r) {
            return at(call.scratch, (rows.me * (GROUP + 1) + r - rows.r) * H);
        };
        T *stats = at(call.stats, (rows.kept + rows.r) * STATS + OF_C);
        for (int64_t r = rows.r; r < rows.end; ++r) {
            Summed<X> s(*this, rows.kept + r, rows.input + r);
            T *cell = cell_of(r), *c = at(call.c, r * H), *opened = o_of(r);
            Vec sum = {};
            each(H, [=, &sum](int64_t j, auto in) {
                Vec i = sigmoid(s.gate(0, j, in)), f = sigmoid(s.gate(1, j, in));
                Vec g = tanh(s.gate(2, j, in)), o = sigmoid(s.gate(3, j, in));
                Vec next = f * in.load(c + j) + i * g;
                in.store(cell + j, next);
                in.store(opened + j, o);
                sum += in.only(next);
            });
            stats[(r - rows.r) * STATS] = add_up(sum) / H;
        }
        rstds(cell_of(rows.r), H, rows.end - rows.r, H, stats);
        for (int64_t r = rows.r; r < rows.end; ++r, stats += STATS) {
            T mean = stats[0], rstd = stats[1];
            const T *cell = cell_of(r), *opened = o_of(r);
            T *c = at(call.c, r * H), *h = at(call.h, r * H);
            T *y = at(call.outputs, (rows.row + r) * H);
            const bool carried = call.form == CARRIED;
            each(H, [=](int64_t j, auto in) {
                Vec raw = in.load(cell + j);
                Vec n = (raw - mean) * rstd * in.load(gain_c + j) + in.load(bias_c + j);
                in.store(c + j, carried ? n : raw);
                Vec out = in.load(opened + j) * tanh(n);
                in.store(h + j, out);
                in.store(y + j, out);
            });
        }
    }

    // The gradient of a row's norms, taken in gate by gate and then given out.
    //
    //     dx = (dx_hat - mean(dx_hat) - x_hat mean(dx_hat x_hat)) rstd,   dx_hat = gain dy
    //
    // Loops have copies of this, so that no store can be one to what they read from it.

    struct Sums {
        Vec dx, slope, dx_x, slope_x;  // of dx_hat and of dx_hat x_hat; of the inputs the same
    };
    struct Hats {
        Vec hidden, inputs;  // x_hat of both
    };
    template <bool X> struct Gradient {
        Summed<X> s;
        T *d, *dgain, *dgain_x, *dbias;

        Gradient(const Recurrence &of, const Row &row)
            : s(of, row.row, row.input), d(at(of.call.scratch, row.me * 5 * of.H)),
              dgain(at(of.call.dgain, row.me * of.call.stride)),
              dgain_x(at(of.call.dgain_x, row.me * of.call.stride)),
              dbias(at(of.call.dbias, row.me * of.call.stride)) {}

        template <class In> static void grow(T *p, Vec by, In in) { in.store(p, in.load(p) + by); }

        template <class In> Hats parts(int64_t gate, int64_t j, In in) const {
            return {s.hidden(gate, j, in), X ? s.inputs(gate, j, in) : Vec{}};
        }
        // dy of the hidden part and of the inputs, at place k.
        template <class In>
        void take(Vec dy, Vec dy_x, Hats x_hat, Sums &sums, int64_t k, In in) const {
            Vec dx = dy * in.load(s.gain + k);
            in.store(d + k, dy);
            grow(dgain + k, dy * x_hat.hidden, in);
            grow(dbias + k, dy, in);
            sums.dx += dx;
            sums.slope += dx * x_hat.hidden;
            if (!X) return;
            dx = dy_x * in.load(s.gain_x + k);
            grow(dgain_x + k, dy_x * x_hat.inputs, in);
            sums.dx_x += dx;
            sums.slope_x += dx * x_hat.inputs;
        }
        void give(const Recurrence &of, int64_t norm, const Sums &sums, const Row &row) const {
            int64_t begin = of.norms() ? of.begin(norm) : 0;
            int64_t end = of.norms() ? of.begin(norm + 1) : of.GH, n = end - begin;
            const bool here = of.norms() > 0, there = of.call.norm_x != 0;
            const T shift = here ? add_up(sums.dx) / n : 0, slope = here ? add_up(sums.slope) / n : 0;
            const T shift_x = there ? add_up(sums.dx_x) / n : 0;
            const T slope_x = there ? add_up(sums.slope_x) / n : 0;
            const T *stats = s.stats[begin / of.H];
            const T mean = stats[0], rstd = stats[1], mean_x = stats[2], rstd_x = stats[3];
            // The n of a GRU has another dy on the side of the inputs, and it comes last.
            const T *d_x = of.call.kind == GRU && norm == 1 ? d + of.H : d;
            T *dhidden = at(of.call.dhidden, row.local * of.GH);
            T *dinputs = at(of.call.dinputs, row.local * of.GH);
            each(begin, end, [=, *this](int64_t k, auto in) {
                Vec x_hat = (in.load(s.a + k) - mean) * rstd;
                Vec dx = in.load(d + k) * in.load(s.gain + k);
                dx = (dx - shift - x_hat * slope) * rstd;
                in.store(dhidden + k, dx);
                if (X) {
                    x_hat = (in.load(s.x + k) - mean_x) * rstd_x;
                    dx = in.load(d_x + k) * in.load(s.gain_x + k);
                    dx = (dx - shift_x - x_hat * slope_x) * rstd_x;
                }
                in.store(dinputs + k, dx);
            });
        }
    };

    template <bool X> void backward(const Row &one) const {
        const T *dy = at(call.dy, one.local * H);
        const T *h = before(call.outputs, call.h0, one.t, one.row, one.r);
        T *dh = at(call.dh, one.r * padded(H));
        memcpy(at(call.h_before, one.local * H), h, H * sizeof(T));
        const Gradient<X> of(*this, one);
        Sums first = {}, second = {};
        const int64_t next = one.next, H = this->H;
        if (call.kind == RNN) {
            const T *y = at(call.outputs, one.row * H);
            const bool relu = call.relu;
            each(H, [=, &first](int64_t j, auto in) {
                of.s.fetch(next, 0, j);
                Vec n = in.load(y + j), d = in.load(dh + j) + in.load(dy + j);
                if (relu) d = n > 0 ? d : n * 0; else d *= 1 - n * n;
                of.take(d, d, of.parts(0, j, in), first, j, in);
            });
        } else if (call.kind == GRU) {
            each(H, [=, &first, &second](int64_t j, auto in) {
                for (int k = 0; k < 3; ++k) of.s.fetch(next, k, j);
                Hats xr = of.parts(0, j, in), xz = of.parts(1, j, in), xn = of.parts(2, j, in);
                Vec R = sigmoid(of.s.both(xr.hidden, xr.inputs, 0, j, in));
                Vec z = sigmoid(of.s.both(xz.hidden, xz.inputs, 1, j, in));
                Vec n = tanh(candidate(of.s, R, xn.hidden, j, in));
                Vec d = in.load(dh + j) + in.load(dy + j);
                Vec d_n = d * z * (1 - n * n), d_z = d * (n - in.load(h + j)) * z * (1 - z);
                Vec d_r = d_n * of.s.gained(xn.hidden, 2, j, in) * R * (1 - R);
                of.take(d_r, d_r, xr, first, j, in);
                of.take(d_z, d_z, xz, first, H + j, in);
                of.take(d_n * R, d_n, xn, second, 2 * H + j, in);
                in.store(of.d + 3 * H + j, d_n);
                of.grow(of.dbias + 3 * H + j, d_n, in);
                in.store(dh + j, d * (1 - z));  // the product is added to it
            });
            of.give(*this, 1, second, one);
        } else if (call.form == PER_GATE) {
            return lstm_backward<X, true>(one, of);
        } else {
            return lstm_backward<X, false>(one, of);
        }
        of.give(*this, 0, first, one);
    }

    template <bool X, bool EACH>
    void lstm_backward(const Row &one, const Gradient<X> &gradient) const {
        const Gradient<X> of = gradient;
        const int64_t next = one.next, H = this->H;
        const T *cell = at(call.cells, one.row * H), *dy = at(call.dy, one.local * H);
        const T *c = before(call.cells, call.c0, one.t, one.row, one.r);
        const T *gain_c = at(call.gain_c, 0), *bias_c = at(call.bias_c, 0);
        const T *dh = at(call.dh, one.r * padded(H));
        T *dc = at(call.dc, one.r * H), *d_c = of.d + 4 * H;
        T *dgain_c = at(call.dgain_c, one.me * call.stride);
        T *dbias_c = at(call.dbias_c, one.me * call.stride);
        const T *stats = at(call.stats, one.row * STATS + OF_C), mean = stats[0], rstd = stats[1];
        const bool carried = call.form == CARRIED;
        Sums of_i = {}, of_f = {}, of_g = {}, of_o = {};  // of_i is that of all in one norm
        Vec shifts = {}, slopes = {};
        each(H, [=, &shifts, &slopes, &of_i, &of_o](int64_t j, auto in) {
            of.s.fetch(next, 3, j);
            __builtin_prefetch(cell + next * H + j);
            Hats x_o = of.parts(3, j, in);
            Vec o = sigmoid(of.s.both(x_o.hidden, x_o.inputs, 3, j, in));
            Vec x = (in.load(cell + j) - mean) * rstd, gain = in.load(gain_c + j);
            Vec y = tanh(x * gain + in.load(bias_c + j));
            Vec d = in.load(dh + j) + in.load(dy + j), d_y = d * o * (1 - y * y);
            if (carried) d_y += in.load(dc + j);
            Vec d_o = d * y * o * (1 - o);
            of.take(d_o, d_o, x_o, EACH ? of_o : of_i, 3 * H + j, in);
            of.grow(dgain_c + j, d_y * x, in);
            of.grow(dbias_c + j, d_y, in);
            d_y *= gain;
            in.store(d_c + j, d_y);
            shifts += d_y;
            slopes += d_y * x;
        });
        const T shift = add_up(shifts) / H, slope = add_up(slopes) / H;
        // Of the cell before, only the raw one is kept: normalize it again where that was carried.
        const bool again = carried && c != at(call.c0, one.r * H);
        const T *of_c = again ? at(call.stats, (c - at(call.cells, 0)) / H * STATS + OF_C) : nullptr;
        const T mean_c = again ? of_c[0] : 0, rstd_c = again ? of_c[1] : 0;
        each(H, [=, &of_i, &of_f, &of_g](int64_t j, auto in) {
            Vec x = (in.load(cell + j) - mean) * rstd;
            Vec d = (in.load(d_c + j) - shift - x * slope) * rstd, c_before = in.load(c + j);
            if (!carried) d += in.load(dc + j);
            if (again) {
                Vec x = (c_before - mean_c) * rstd_c;
                c_before = x * in.load(gain_c + j) + in.load(bias_c + j);
            }
            for (int k = 0; k < 3; ++k) of.s.fetch(next, k, j);
            Hats x_i = of.parts(0, j, in), x_f = of.parts(1, j, in), x_g = of.parts(2, j, in);
            Vec i = sigmoid(of.s.both(x_i.hidden, x_i.inputs, 0, j, in));
            Vec f = sigmoid(of.s.both(x_f.hidden, x_f.inputs, 1, j, in));
            Vec g = tanh(of.s.both(x_g.hidden, x_g.inputs, 2, j, in));
            Vec d_i = d * g * i * (1 - i), d_f = d * c_before * f * (1 - f), d_g = d * i * (1 - g * g);
            of.take(d_i, d_i, x_i, of_i, j, in);
            of.take(d_f, d_f, x_f, EACH ? of_f : of_i, H + j, in);
            of.take(d_g, d_g, x_g, EACH ? of_g : of_i, 2 * H + j, in);
            in.store(dc + j, d * f);
        });
        of.give(*this, 0, of_i, one);
        if (!EACH) return;
        of.give(*this, 1, of_f, one);
        of.give(*this, 2, of_g, one);
        of.give(*this, 3, of_o, one);
    }
};

extern "C" {
int64_t lnlib_lanes(int64_t bytes) { return BYTES / bytes; }
void lnlib_forward_4(const Call *call, double eps) {
    Recurrence<float>{{}, *call, eps}.run_forward();
}
void lnlib_forward_8(const Call *call, double eps) {
    Recurrence<double>{{}, *call, eps}.run_forward();
}
void lnlib_backward_4(const Call *call, double eps) {
    Recurrence<float>{{}, *call, eps}.run_backward();
}
void lnlib_backward_8(const Call *call, double eps) {
    Recurrence<double>{{}, *call, eps}.run_backward();
}
}
