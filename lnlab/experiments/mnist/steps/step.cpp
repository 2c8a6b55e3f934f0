// One training step of the network of section 6.6 for the CPU, float and double: forward, backward,
// and Adam, without ever writing down the gradient of a weight matrix.
//
// Built by compiled.py on the first use, with any C++17 compiler; no headers but those of lnlib's
// kernels and the standard library's. Python owns the memory, and no error leaves this file.
//
// With a few cases a step, time goes into moving the weights and Adam's two moments between the
// cache and the core. So each is read once and written once a step, when the last layer that needs
// the old weight has been through: a block of rows of W gives its part of the gradient of the layer
// below, gets its own gradient, a sum over the cases, and is updated. Each thread owns some units
// of each layer. The rows of the next block are asked for ahead: a row of 4 kB ends just when the
// processor has noticed that it is read in order, which costs a fifth of a step of four cases.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "threads.h"
#include "vectors.h"

constexpr int64_t R = 4;        // rows of a weight matrix at a time
constexpr int64_t C = 4;        // cases at a time, forward: R x C sums stay in registers

enum Norm : int64_t { NONE, BATCH, LAYER, WEIGHT };

// compiled.py mirrors the order. A layer maps `inputs` to `outputs` numbers.
struct Layer {
    int64_t inputs, outputs, norm;
    int64_t weight, gain, bias;             // where they begin among the parameters
    void *running_mean, *running_var;       // (outputs): of batch norm, else null
};

struct Call {
    int64_t layers, cases, threads, update; // `update` counts from 1
    int64_t unbiased;
    double eps, momentum;
    double rate, beta1, beta2, adam_eps;
    const Layer *layer;
    void *parameters, *first, *second;      // all parameters in one row, and their moments
    const void *x;                          // (cases, inputs of the first layer)
    const int64_t *labels;                  // (cases)
    void *loss;                             // one number: the mean NLL, nats
    void *work;                             // as many numbers as lnlib_work says
};

// Numbers smaller than 1e-38 cost a hundred times as much to compute with. Adam's moments decay
// into them where a gradient stays 0; here they become 0.
class FlushToZero {
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();

public:
    FlushToZero() { _mm_setcsr(before | 0x8040); }
    ~FlushToZero() { _mm_setcsr(before); }
#else
public:
    FlushToZero() {}
#endif
};

template <class T> struct Step : Vectors<T> {
    using Base = Vectors<T>;
    using typename Base::Vec;
    using Base::add_up, Base::each, Base::L;

    // Adam.

    const Call &call;
    T beta1 = T(call.beta1), beta2 = T(call.beta2), adam_eps = T(call.adam_eps);
    T keep1 = T(1 - call.beta1), keep2 = T(1 - call.beta2);
    T rate = T(call.rate / (1 - std::pow(call.beta1, double(call.update))));
    T root = T(1 / std::sqrt(1 - std::pow(call.beta2, double(call.update))));

    // rate * m / (sqrt(v) root + eps)
    Vec move(Vec m, Vec v) const {
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<T, float>) {
            // Estimates to 14 bits and a step of Newton's: a third of the time of root and division.
            Vec y = v < T(1e-30) ? Vec{} + T(1e-30) : v;  // far below eps^2: no root of 0
            Vec r = (Vec)_mm512_rsqrt14_ps((__m512)y);
            r = r * (T(1.5) - T(0.5) * y * r * r);
            Vec d = y * r * root + adam_eps, q = (Vec)_mm512_rcp14_ps((__m512)d);
            q = q * (T(2) - d * q);
            return rate * m * q;
        }
#endif
        Vec s;
        for (int k = 0; k < L; ++k) s[k] = std::sqrt(v[k]);
        return rate * m / (s * root + adam_eps);
    }
    template <class In> inline void adam(In in, int64_t at, Vec p, Vec g) const {
        T *first = (T *)call.first + at, *second = (T *)call.second + at;
        Vec m = in.load(first), v = in.load(second);
        m += keep1 * (g - m);
        v = v * beta2 + keep2 * g * g;
        in.store(first, m);
        in.store(second, v);
        in.store((T *)call.parameters + at, p - move(m, v));
    }
    // The gradients (outputs) of gains or biases that a thread owns.
    void adam_some(int64_t at, Part own, const T *gradient) const {
        each(own.begin, own.end, [&](int64_t j, auto in) {
            adam(in, at + j, in.load((T *)call.parameters + at + j), in.load(gradient + j));
        });
    }

    // What a step needs for a while; every row begins on a multiple of L. B is the number of cases.

    static int64_t padded(int64_t n) { return (n + L - 1) / L * L; }
    struct Kept {
        T *sum;              // (B, outputs): W x
        T *out;              // (B, outputs): after norm and ReLU; of the last layer the logits
        T *grad;             // (B, outputs): of the loss by `out`, then by `sum`
        T *parts;            // (threads, B, outputs): of `grad`, before they are added up
        T *mean, *scale;     // (outputs) or, of layer norm, (B): what normalized the sums
        T *dgain, *dbias;    // (outputs)
        T *pull;             // (outputs): of weight norm, how much of W itself is in its gradient
        T *totals;           // (threads, 2, B): of layer norm
    };
    Kept kept[16];

    int64_t lay_out() {
        T *next = (T *)call.work, *start = next;
        auto take = [&](int64_t n) { T *p = next; next += padded(n); return p; };
        for (int64_t l = 0; l < call.layers; ++l) {
            int64_t n = padded(call.layer[l].outputs), B = call.cases;
            kept[l] = {take(B * n), take(B * n), take(B * n), take(call.threads * B * n),
                       take(std::max(n, B)), take(std::max(n, B)), take(n), take(n), take(n),
                       take(call.threads * padded(2 * B))};
        }
        return next - start;
    }

    // sum[b, j] = W[j] . x[b], and scale[j] = 1 / |W[j]| if `norms`, for the rows that are owned.
    void products(const Layer &a, const Kept &k, const T *x, int64_t ldx, Part own, bool norms) {
        int64_t B = call.cases, n = padded(a.outputs);
        const T *w = (const T *)call.parameters + a.weight;
        for (int64_t j = own.begin; j < own.end; j += R) {
            int64_t rows = std::min(R, own.end - j);
            const T *row[R];
            for (int64_t r = 0; r < R; ++r) row[r] = w + (j + std::min(r, rows - 1)) * a.inputs;
            for (int64_t b = 0; b < B; b += C) {
                int64_t cases = std::min(C, B - b);
                const T *in_[C];
                for (int64_t c = 0; c < C; ++c) in_[c] = x + (b + std::min(c, cases - 1)) * ldx;
                Vec s[R][C] = {};
                each(0, a.inputs, [&](int64_t i, auto in) {
                    Vec v[C];
                    for (int64_t c = 0; c < C; ++c) v[c] = in.load(in_[c] + i);
                    for (int64_t r = 0; r < R; ++r) {
                        __builtin_prefetch(row[r] + R * a.inputs + i);
                        Vec u = in.load(row[r] + i);
                        for (int64_t c = 0; c < C; ++c) s[r][c] += u * v[c];
                    }
                });
                for (int64_t c = 0; c < cases; ++c)
                    for (int64_t r = 0; r < rows; ++r)
                        k.sum[(b + c) * n + j + r] = add_up(s[r][c]);
            }
            for (int64_t r = 0; norms && r < rows; ++r) {
                Vec s = {};
                each(0, a.inputs, [&](int64_t i, auto in) {
                    Vec u = in.load(row[r] + i);
                    s += u * u;
                });
                k.scale[j + r] = 1 / std::sqrt(add_up(s));
            }
        }
    }

    void forward(const Layer &a, const Kept &k, const T *x, int64_t ldx, bool relu, int64_t me,
                 Barrier &barrier) {
        int64_t B = call.cases, n = padded(a.outputs), H = a.outputs;
        const T *gain = (const T *)call.parameters + a.gain;
        const T *bias = (const T *)call.parameters + a.bias;
        Part own(H, me, barrier.threads);
        products(a, k, x, ldx, own, a.norm == WEIGHT);
        if (a.norm == BATCH)
            for (int64_t j = own.begin; j < own.end; ++j) {
                T mean = 0, var = 0;
                for (int64_t b = 0; b < B; ++b) mean += k.sum[b * n + j];
                mean /= B;
                for (int64_t b = 0; b < B; ++b) {
                    T d = k.sum[b * n + j] - mean;
                    var += d * d;
                }
                T *m = (T *)a.running_mean + j, *v = (T *)a.running_var + j;
                *m += T(call.momentum) * (mean - *m);
                *v += T(call.momentum) * (var / (B - 1) - *v);
                k.mean[j] = mean;
                k.scale[j] = 1 / std::sqrt(var / (call.unbiased ? B - 1 : B) + T(call.eps));
            }
        if (a.norm == LAYER) {
            barrier.wait();
            for (int64_t b = 0; b < B; ++b) {  // each thread for itself
                T *row = k.sum + b * n, mean = 0, var = 0;
                for (int64_t j = 0; j < H; ++j) mean += row[j];
                mean /= H;
                for (int64_t j = 0; j < H; ++j) var += (row[j] - mean) * (row[j] - mean);
                statistics(k, b, mean, 1 / std::sqrt(var / H + T(call.eps)), me);
            }
        }
        for (int64_t b = 0; b < B; ++b) {
            T mean = a.norm == LAYER ? my_mean(k, b, me) : 0;
            T scale = a.norm == LAYER ? my_scale(k, b, me) : 1;
            for (int64_t j = own.begin; j < own.end; ++j) {
                T y = k.sum[b * n + j];
                if (a.norm == BATCH) y = (y - k.mean[j]) * k.scale[j];
                if (a.norm == LAYER) y = (y - mean) * scale;
                if (a.norm == WEIGHT) y *= k.scale[j];
                y = a.norm == NONE ? y + bias[j] : y * gain[j] + bias[j];
                k.out[b * n + j] = relu && !(y > 0) && y == y ? 0 : y;  // NaN stays NaN
            }
        }
        barrier.wait();
    }
    // Of layer norm, each thread has its own copy, in `totals`, which is free until the gradient.
    void statistics(const Kept &k, int64_t b, T mean, T scale, int64_t me) {
        k.totals[me * padded(2 * call.cases) + 2 * b] = mean;
        k.totals[me * padded(2 * call.cases) + 2 * b + 1] = scale;
        if (me == 0) k.mean[b] = mean, k.scale[b] = scale;
    }
    T my_mean(const Kept &k, int64_t b, int64_t me) {
        return k.totals[me * padded(2 * call.cases) + 2 * b];
    }
    T my_scale(const Kept &k, int64_t b, int64_t me) {
        return k.totals[me * padded(2 * call.cases) + 2 * b + 1];
    }

    // The loss, and its gradient by the logits.
    void loss(const Kept &k, int64_t classes, int64_t me, Barrier &barrier) {
        int64_t B = call.cases, n = padded(classes);
        if (me == 0) {
            T total = 0;
            for (int64_t b = 0; b < B; ++b) {
                const T *z = k.out + b * n;
                T most = z[0], sum = 0;
                for (int64_t j = 1; j < classes; ++j) most = std::max(most, z[j]);
                for (int64_t j = 0; j < classes; ++j) sum += std::exp(z[j] - most);
                for (int64_t j = 0; j < classes; ++j)
                    k.grad[b * n + j] =
                        (std::exp(z[j] - most) / sum - (j == call.labels[b])) / T(B);
                total += std::log(sum) - (z[call.labels[b]] - most);
            }
            *(T *)call.loss = total / T(B);
        }
        barrier.wait();
    }

    // From the gradient by `out` to that by `sum`; gains and biases are updated.
    void through_norm(const Layer &a, const Kept &k, bool relu, int64_t me, Barrier &barrier) {
        int64_t B = call.cases, n = padded(a.outputs), H = a.outputs, lt = padded(2 * B);
        const T *gain = (const T *)call.parameters + a.gain;
        Part own(H, me, barrier.threads);
        for (int64_t j = own.begin; j < own.end; ++j) k.dgain[j] = k.dbias[j] = 0;
        T *mine = k.totals + me * lt;
        for (int64_t b = 0; b < B; ++b) {
            T *g = k.grad + b * n, sum_d = 0, sum_dx = 0;
            for (int64_t j = own.begin; j < own.end; ++j) {
                if (relu) g[j] = k.out[b * n + j] == 0 ? 0 : g[j];
                k.dbias[j] += g[j];
                if (a.norm == NONE) continue;
                T s = k.sum[b * n + j];
                T x = a.norm == LAYER ? (s - k.mean[b]) * k.scale[b]
                      : a.norm == BATCH ? (s - k.mean[j]) * k.scale[j]
                                        : s * k.scale[j];
                k.dgain[j] += g[j] * x;
                if (a.norm == LAYER) {
                    sum_d += g[j] * gain[j];
                    sum_dx += g[j] * gain[j] * x;
                }
            }
            if (a.norm == LAYER) mine[2 * b] = sum_d, mine[2 * b + 1] = sum_dx;
        }
        if (a.norm == LAYER) barrier.wait();
        T N = T(call.unbiased ? B - 1 : B);
        for (int64_t b = 0; b < B && a.norm != NONE; ++b) {
            T *g = k.grad + b * n, d = 0, dx = 0;
            if (a.norm == LAYER) {
                for (int64_t t = 0; t < barrier.threads; ++t) {
                    d += k.totals[t * lt + 2 * b];
                    dx += k.totals[t * lt + 2 * b + 1];
                }
                d /= H, dx /= H;
            }
            for (int64_t j = own.begin; j < own.end; ++j) {
                T s = k.sum[b * n + j];
                if (a.norm == LAYER) {
                    T x = (s - k.mean[b]) * k.scale[b];
                    g[j] = (g[j] * gain[j] - d - x * dx) * k.scale[b];
                } else if (a.norm == BATCH) {
                    T x = (s - k.mean[j]) * k.scale[j];
                    g[j] = gain[j] * k.scale[j] * (g[j] - k.dbias[j] / B - x * k.dgain[j] / N);
                } else {
                    g[j] *= gain[j] * k.scale[j];
                }
            }
        }
        for (int64_t j = own.begin; j < own.end; ++j)
            k.pull[j] = a.norm == WEIGHT ? -gain[j] * k.dgain[j] * k.scale[j] * k.scale[j] : 0;
        if (a.norm != NONE) adam_some(a.gain, own, k.dgain);
        adam_some(a.bias, own, k.dbias);
    }

    // Update the rows of W that are owned; leave their part of the gradient of x in `below`.
    void update_weights(const Layer &a, const Kept &k, const T *x, int64_t ldx, T *below,
                        int64_t me, Barrier &barrier) {
        int64_t B = call.cases;
        Part own(a.outputs, me, barrier.threads);
        if (below) std::fill(below, below + B * ldx, T(0));
        for (int64_t j = own.begin; j < own.end; j += R) {
            if (own.end - j >= R) block<R>(a, k, x, ldx, below, j);
            else for (int64_t r = j; r < own.end; ++r) block<1>(a, k, x, ldx, below, r);
        }
    }
    template <int64_t rows>
    inline void block(const Layer &a, const Kept &k, const T *x, int64_t ldx, T *below,
                      int64_t j) {
        int64_t B = call.cases, n = padded(a.outputs);
        const T *w = (const T *)call.parameters + a.weight + j * a.inputs;
        each(0, a.inputs, [&](int64_t i, auto in) {
            Vec p[rows], g[rows];
            for (int64_t r = 0; r < rows; ++r) {
                int64_t next = a.weight + (j + rows + r) * a.inputs + i;
                __builtin_prefetch((T *)call.parameters + next, 1);
                __builtin_prefetch((T *)call.first + next, 1);
                __builtin_prefetch((T *)call.second + next, 1);
                p[r] = in.load(w + r * a.inputs + i);
                g[r] = p[r] * k.pull[j + r];
            }
            for (int64_t b = 0; b < B; ++b) {
                Vec v = in.load(x + b * ldx + i);
                const T *d = k.grad + b * n + j;
                for (int64_t r = 0; r < rows; ++r) g[r] += d[r] * v;
                if (!below) continue;
                Vec s = in.load(below + b * ldx + i);
                for (int64_t r = 0; r < rows; ++r) s += d[r] * p[r];
                in.store(below + b * ldx + i, s);
            }
            for (int64_t r = 0; r < rows; ++r)
                adam(in, a.weight + (j + r) * a.inputs + i, p[r], g[r]);
        });
    }

    void run(int64_t me, Barrier &barrier) {
        FlushToZero here;
        int64_t last = call.layers - 1, B = call.cases;
        auto inputs = [&](int64_t l) { return l ? kept[l - 1].out : (const T *)call.x; };
        auto length = [&](int64_t l) {
            return l ? padded(call.layer[l].inputs) : call.layer[0].inputs;
        };
        for (int64_t l = 0; l <= last; ++l)
            forward(call.layer[l], kept[l], inputs(l), length(l), l < last, me, barrier);
        loss(kept[last], call.layer[last].outputs, me, barrier);
        for (int64_t l = last; l >= 0; --l) {
            const Layer &a = call.layer[l];
            const Kept &k = kept[l];
            through_norm(a, k, l < last, me, barrier);
            T *below = l ? kept[l - 1].parts + me * B * length(l) : nullptr;
            update_weights(a, k, inputs(l), length(l), below, me, barrier);
            if (!l) break;
            barrier.wait();
            Part own(a.inputs, me, barrier.threads);
            for (int64_t b = 0; b < B; ++b)
                for (int64_t i = own.begin; i < own.end; ++i) {
                    T sum = 0;
                    for (int64_t t = 0; t < barrier.threads; ++t)
                        sum += kept[l - 1].parts[(t * B + b) * length(l) + i];
                    kept[l - 1].grad[b * length(l) + i] = sum;
                }
        }
    }
};

template <class T> void step(const Call &call) {
    Step<T> step{{}, call};
    step.lay_out();
    parallel(call.threads, [&](int64_t me, Barrier &barrier) { step.run(me, barrier); });
}

extern "C" {
int64_t lnlib_work_4(const Call *call) { return Step<float>{{}, *call}.lay_out(); }
int64_t lnlib_work_8(const Call *call) { return Step<double>{{}, *call}.lay_out(); }
void lnlib_step_4(const Call *call) { step<float>(*call); }
void lnlib_step_8(const Call *call) { step<double>(*call); }
}
