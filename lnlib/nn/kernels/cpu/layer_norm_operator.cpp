// The norms of layer_norm.cpp as one function for Python and one node for autograd: what PyTorch's own
// operators have, and what saves a small norm the time of Python's share.
//
// Built by layer_norm_operator.py with PyTorch's and Python's headers, where both are there. It takes what most
// calls give, contiguous tensors of the class Tensor or Parameter that nobody watches; for anything
// else it returns None, or hands the backward pass to layer_norm_function.py.

#include <Python.h>  // first: where it is missing, the compiler stops at once

#include <algorithm>
#include <cstdint>
#include <optional>
#if defined(__linux__)
#include <sched.h>
#else
#include <thread>
#endif

#define AT_PER_OPERATOR_HEADERS  // not those of all operators
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

using at::Tensor;
using std::optional;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

typedef int (*Forward)(int64_t, int64_t, int64_t, int64_t, int64_t, double, const void *,
                       const void *, const void *, const void *, void *, void *, double *);
typedef int (*Backward)(int64_t, int64_t, int64_t, int64_t, int64_t, const void *, const void *,
                        double *, const void *, const void *, void *, void *, void *);

// What layer_norm_operator.py sets, in the order of its dtypes.
struct Kernel {
    Forward forward;  // null: not for this dtype
    Backward backward;
    double eps;  // where None is given to RMS norm
};
struct Setup {
    Kernel kernels[4];
    int64_t work, most;      // numbers per thread, at least; threads, at most
    PyObject *gradients;     // layer_norm_function.gradients
};
static Setup setup;

static const Kernel *kernel_of(at::ScalarType dtype) {
    switch (dtype) {
    case at::kHalf: return &setup.kernels[0];
    case at::kBFloat16: return &setup.kernels[1];
    case at::kFloat: return &setup.kernels[2];
    case at::kDouble: return &setup.kernels[3];
    default: return nullptr;
    }
}

// As build.threads.
static int64_t threads(int64_t rows, int64_t H) {
    const int64_t numbers = rows * H;
    if (numbers < 2 * setup.work) return 1;
#if defined(__linux__)
    cpu_set_t set;
    const int64_t cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
#else
    const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
#endif
    const int64_t wanted = std::min({int64_t(at::get_num_threads()), cores, numbers / setup.work});
    return std::max<int64_t>(1, std::min({wanted, setup.most, rows}));
}

// No transform, mode, tracer or subclass has to see what is done to these tensors, and their memory
// holds their numbers.
static bool is_plain(const Tensor &t) {
    static const c10::DispatchKeySet known = c10::DispatchKeySet(c10::DispatchKey::CPU) |
        c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView) | c10::autograd_dispatch_keyset |
        c10::autocast_dispatch_keyset;
    return !(t.key_set().raw_repr() & ~known.raw_repr()) && !t._fw_grad(0).defined();
}

static bool is_watched() {
    static const c10::DispatchKeySet usual =
        c10::default_included_set | c10::autocast_dispatch_keyset;
    return c10::impl::tls_local_dispatch_key_set().included_.raw_repr() & ~usual.raw_repr();
}

static void *at_(const optional<Tensor> &t) { return t ? t->data_ptr() : nullptr; }

static void refuse(int status) {
    TORCH_CHECK(!status, "lnlib.nn: there is no memory for a row of numbers for each thread");
}

struct Rows : torch::autograd::Function<Rows> {
    static variable_list forward(AutogradContext *ctx, const Tensor &input,
                                 const optional<Tensor> &residual, const optional<Tensor> &weight,
                                 const optional<Tensor> &bias, int64_t H, int64_t ndim, double eps,
                                 bool centered) {
        const int64_t rows = input.numel() / H;
        Tensor y = at::empty(input.sizes(), input.options());
        Tensor stats = at::empty({rows, 2}, input.options().dtype(at::kDouble));
        optional<Tensor> total;
        if (residual) total = at::empty(input.sizes(), input.options());
        refuse(kernel_of(input.scalar_type())->forward(
            rows, H, threads(rows, H), centered, false, eps, input.data_ptr(), at_(residual),
            at_(weight), at_(bias), y.data_ptr(), at_(total), stats.data_ptr<double>()));
        if (ctx) {
            ctx->set_materialize_grads(false);
            ctx->saved_data["settings"] = std::vector<double>{
                double(H), double(ndim), eps, double(centered), double(residual.has_value())};
            ctx->save_for_backward({total ? *total : input, weight.value_or(Tensor()),
                                    bias.value_or(Tensor()), stats});
        }
        return total ? variable_list{y, *total} : variable_list{y};
    }

    static variable_list backward(AutogradContext *ctx, variable_list given) {
        const variable_list saved = ctx->get_saved_variables();
        const Tensor &weight = saved[1], &bias = saved[2], &stats = saved[3];
        const auto settings = ctx->saved_data["settings"].toDoubleVector();
        const int64_t H = settings[0];
        const bool added = settings[4];
        Tensor dy = given[0], dsum = added ? given[1] : Tensor();
        variable_list found(8);
        if (!dy.defined()) {
            found[0] = dsum;
            if (added) found[1] = dsum;
            return found;
        }
        size_t edge = 0;  // of what is given to forward and is there
        bool needs[4];
        const bool there[] = {true, added, weight.defined(), bias.defined()};
        for (int k = 0; k < 4; ++k) needs[k] = there[k] && ctx->needs_input_grad(edge++);

        const bool simple = !at::GradMode::is_enabled() && !is_watched() && fits(dy, saved[0]) &&
            (!dsum.defined() || fits(dsum, saved[0])) && is_plain(saved[0]);
        if (!simple) return in_python(settings, needs, saved, dy, dsum);

        const Tensor x = saved[0].contiguous();
        dy = dy.contiguous();
        if (dsum.defined()) dsum = dsum.contiguous();
        Tensor dx, dweight, dbias;
        if (needs[0] || needs[1]) dx = at::empty(x.sizes(), x.options());
        if (needs[2]) dweight = at::empty(weight.sizes(), weight.options());
        if (needs[3]) dbias = at::empty(bias.sizes(), bias.options());
        auto p = [](const Tensor &t) { return t.defined() ? t.data_ptr() : nullptr; };
        const int64_t rows = x.numel() / H;
        refuse(kernel_of(x.scalar_type())->backward(
            rows, H, threads(rows, H), settings[3] != 0, false, x.data_ptr(), p(weight),
            stats.data_ptr<double>(), dy.data_ptr(), p(dsum), p(dx), p(dweight), p(dbias)));
        found[0] = dx;
        if (needs[1]) found[1] = dx;
        found[2] = dweight, found[3] = dbias;
        return found;
    }

    // A gradient may come in any layout, from a sparse gather for example.
    static bool fits(const Tensor &d, const Tensor &x) {
        return is_plain(d) && d.scalar_type() == x.scalar_type() && d.sizes() == x.sizes();
    }

    static variable_list in_python(const std::vector<double> &settings, const bool *needs,
                                   const variable_list &saved, const Tensor &dy,
                                   const Tensor &dsum) {
        pybind11::gil_scoped_acquire gil;
        auto wrap = [](const Tensor &t) {
            return pybind11::reinterpret_steal<pybind11::object>(THPVariable_Wrap(t));
        };
        variable_list found(8);
        try {
            pybind11::tuple result =
                pybind11::reinterpret_borrow<pybind11::object>(setup.gradients)(
                    int64_t(settings[0]), int64_t(settings[1]), settings[2], settings[3] != 0,
                    pybind11::make_tuple(needs[0], needs[1], needs[2], needs[3]), wrap(saved[0]),
                    wrap(saved[1]), wrap(saved[2]), wrap(saved[3]), wrap(dy), wrap(dsum));
            for (int k = 0; k < 4; ++k) {
                PyObject *g = PyTuple_GET_ITEM(result.ptr(), k);
                if (g != Py_None) found[k] = THPVariable_Unpack(g);
            }
        } catch (pybind11::error_already_set &e) {
            e.restore();
            python_error error;
            error.persist();
            throw error;
        }
        return found;
    }
};

// norm(input, residual, normalized_shape, weight, bias, eps, centered): None, y, or (y, sum).
static PyObject *norm(PyObject *, PyObject *const *args, Py_ssize_t count) {
    HANDLE_TH_ERRORS
    if (count != 7 || !THPVariable_CheckExact(args[0]) || !PyTuple_Check(args[2])) Py_RETURN_NONE;
    const Tensor &input = THPVariable_Unpack(args[0]);
    const Kernel *kernel = kernel_of(input.scalar_type());
    if (!kernel || !kernel->forward || is_watched()) Py_RETURN_NONE;

    optional<Tensor> others[3];  // residual, weight, bias
    PyObject *const places[] = {args[1], args[3], args[4]};
    bool needs_gradient = input.requires_grad();
    for (int k = 0; k < 3; ++k) {
        if (places[k] == Py_None) continue;
        if (!THPVariable_CheckExact(places[k])) Py_RETURN_NONE;
        others[k] = THPVariable_Unpack(places[k]);
        if (!is_plain(*others[k]) || !others[k]->is_contiguous()) Py_RETURN_NONE;
        if (others[k]->scalar_type() != input.scalar_type()) Py_RETURN_NONE;
        needs_gradient |= others[k]->requires_grad();
    }
    const auto &[residual, weight, bias] = others;
    if (!is_plain(input) || !input.is_contiguous()) Py_RETURN_NONE;

    const int64_t ndim = PyTuple_GET_SIZE(args[2]), first = input.dim() - ndim;
    if (!ndim || first < 0) Py_RETURN_NONE;
    int64_t H = 1;
    for (int64_t k = 0; k < ndim; ++k) {
        PyObject *size = PyTuple_GET_ITEM(args[2], k);
        if (!PyLong_CheckExact(size) || PyLong_AsLongLong(size) != input.size(first + k))
            Py_RETURN_NONE;
        H *= input.size(first + k);
    }
    const at::IntArrayRef shape = input.sizes().slice(first);
    if (!H || (residual && residual->sizes() != input.sizes())) Py_RETURN_NONE;
    if ((weight && weight->sizes() != shape) || (bias && (!weight || bias->sizes() != shape)))
        Py_RETURN_NONE;
    double eps = kernel->eps;
    if (PyFloat_CheckExact(args[5])) eps = PyFloat_AS_DOUBLE(args[5]);
    else if (args[5] != Py_None) Py_RETURN_NONE;
    const bool centered = args[6] == Py_True;

    variable_list found;
    {
        pybind11::gil_scoped_release no_gil;
        RECORD_FUNCTION("lnlib::norm", c10::ArrayRef<const c10::IValue>{});
        if (needs_gradient && at::GradMode::is_enabled())
            found = Rows::apply(input, residual, weight, bias, H, ndim, eps, centered);
        else found = Rows::forward(nullptr, input, residual, weight, bias, H, ndim, eps, centered);
    }
    if (found.size() == 1) return THPVariable_Wrap(std::move(found[0]));
    return Py_BuildValue("NN", THPVariable_Wrap(found[0]), THPVariable_Wrap(found[1]));
    END_HANDLE_TH_ERRORS
}

static PyMethodDef method = {"norm", (PyCFunction)(void (*)())norm, METH_FASTCALL, nullptr};

extern "C" PyObject *lnlib_operator(const Setup *given) {
    setup = *given;
    Py_INCREF(setup.gradients);
    return PyCFunction_New(&method, nullptr);
}
