// Rare special functions, one value at a time, in double where that is what accuracy needs.
#include <cmath>
#include <limits>

#include "ops/kernels/block_kernels.hpp"

namespace ttnn_shim::kernels::cold {

namespace {
constexpr double PI = 3.14159265358979323846;

double digamma_double(double x) {
    if (x == 0.0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
    if (x < 0.0 && std::floor(x) == x) return std::numeric_limits<double>::quiet_NaN();
    double result = 0.0;
    if (x < 0.0) {  // reflection
        result = -PI / std::tan(PI * x);
        x = 1.0 - x;
    }
    while (x < 10.0) {
        result -= 1.0 / x;
        x += 1.0;
    }
    const double s = 1.0 / (x * x);
    return result + std::log(x) - 0.5 / x - s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
}

/// Power series of I_n(x) for n = 0, 1; the asymptotic series beyond 30.
double bessel(double x, int order) {
    const double ax = std::fabs(x);
    double value = 0.0;
    if (ax <= 30.0) {
        const double q = ax * ax / 4.0;
        double term = order == 0 ? 1.0 : ax / 2.0;
        for (int k = 1; k < 200 && term > value * 1e-17; ++k) {
            value += term;
            term *= q / (k * (k + order));
        }
    } else {
        const double mu = 4.0 * order * order;
        double term = 1.0, sum = 1.0;
        for (int k = 1; k < 12; ++k) {
            term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * ax);
            sum += term;
        }
        value = std::exp(ax) / std::sqrt(2.0 * PI * ax) * sum;
    }
    return order == 1 && x < 0 ? -value : value;
}
}  // namespace

float erfinv(float x) {
    if (!(x > -1.0F && x < 1.0F)) {
        if (x == 1.0F) return INFINITY;
        if (x == -1.0F) return -INFINITY;
        return NAN;
    }
    const double a = x;
    const double l = std::log1p(-a * a);
    const double t = 2.0 / (PI * 0.147) + l / 2.0;
    double y = std::copysign(std::sqrt(std::sqrt(t * t - l / 0.147) - t), a);  // Winitzki's start, then Newton with erf
    for (int i = 0; i < 3; ++i) y -= (std::erf(y) - a) / (2.0 / std::sqrt(PI) * std::exp(-y * y));
    return static_cast<float>(y);
}
float bessel_i0(float x) { return static_cast<float>(bessel(x, 0)); }
float bessel_i1(float x) { return static_cast<float>(bessel(x, 1)); }
float lgamma(float x) {
    int sign = 0;
    return static_cast<float>(::lgamma_r(static_cast<double>(x), &sign));  // std::lgamma writes a global: not for threads
}
float digamma(float x) { return std::isnan(x) || x == -INFINITY ? NAN : (x == INFINITY ? x : static_cast<float>(digamma_double(x))); }
/// Hurwitz zeta(s, x) for x > 0: direct sum to x + 20, then Euler-Maclaurin.
static double zeta(double s, double x) {
    double sum = 0.0;
    double at = x;
    for (int k = 0; k < 20 || at < 10.0; ++k, at += 1.0) sum += std::pow(at, -s);
    sum += std::pow(at, 1.0 - s) / (s - 1.0) + 0.5 * std::pow(at, -s);
    double term = s * std::pow(at, -s - 1.0);
    constexpr double BERNOULLI[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
    for (int k = 0; k < 5; ++k) {
        sum += BERNOULLI[k] * term;
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (at * at);
    }
    return sum;
}
/// (-1)^(n+1) n! zeta(n + 1, x). Poles at 0, -1, ... are infinite; other negative x by the sum over all integers.
float polygamma(int order, float x) {
    if (order == 0) return digamma(x);
    if (std::isnan(x)) return x;
    const double s = order + 1.0, base = std::floor(static_cast<double>(x)), fraction = x - base;
    double sum = INFINITY;
    if (x > 0) {
        sum = zeta(s, x);
    } else if (fraction > 0) {
        const double above = zeta(s, fraction), below = zeta(s, 1.0 - fraction) - zeta(s, 1.0 - x);
        sum = order % 2 == 0 ? above - below : above + below;
    }
    const double value = std::tgamma(s) * sum;
    return static_cast<float>(order % 2 == 0 ? -value : value);
}
float round_decimals(float x, int decimals) {
    if (decimals == 0) return std::nearbyint(x);
    const double scale = std::pow(10.0, decimals);
    return static_cast<float>(std::nearbyint(static_cast<double>(x) * scale) / scale);
}
float remainder(float a, float b) {
    const float r = std::fmod(a, b);
    return r != 0.0F && ((r < 0.0F) != (b < 0.0F)) ? r + b : r;
}
float logit(float x, float epsilon) {
    const float c = epsilon >= 0.0F && !std::isnan(x) ? std::fmin(std::fmax(x, epsilon), 1.0F - epsilon) : x;
    return static_cast<float>(std::log(static_cast<double>(c) / (1.0 - static_cast<double>(c))));
}
float logaddexp(float a, float b) {
    if (a == b) return a + 0.693147181F;
    const float hi = std::fmax(a, b);
    return std::isnan(a) || std::isnan(b) ? NAN : hi + std::log1p(std::exp(std::fmin(a, b) - hi));
}
float logaddexp2(float a, float b) {
    if (a == b) return a + 1.0F;
    const float hi = std::fmax(a, b);
    return std::isnan(a) || std::isnan(b) ? NAN : hi + std::log1p(std::exp2(std::fmin(a, b) - hi)) * 1.44269504F;
}
float xlogy(float a, float b) { return std::isnan(b) ? b : (a == 0.0F ? 0.0F : a * std::log(b)); }

}  // namespace ttnn_shim::kernels::cold

namespace ttnn_shim::kernels {

const KernelSet& kernel_set() {
    static const KernelSet set = [] {
#ifdef __x86_64__
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
            return avx512::make_set();
        }
#endif
        return baseline::make_set();
    }();
    return set;
}

}  // namespace ttnn_shim::kernels
