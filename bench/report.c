/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <assert.h>
#include <stdio.h>

#include "base/banned.h"
#include "json/json.h"

static const struct {
    const char *name;
    double part;
} quantiles[] = {
    { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99.9", 0.999 }, { "max", 1 },
};

enum { NQUANTILES = sizeof(quantiles) / sizeof(*quantiles) };

void bench_figure(struct bench_result *r, const char *name, double value, const char *unit)
{
    assert(r->nfigures < BENCH_FIGURES_MAX);
    r->figures[r->nfigures++] = (struct bench_figure){ name, unit, value };
}

static double rate(const struct bench_result *r)
{
    return r->seconds > 0 ? (double)r->ops / r->seconds : 0;
}

static double cpu_us(const struct bench_result *r)
{
    return r->ops ? r->cpu_s * 1e6 / (double)r->ops : 0;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* ---- for people ---- */

static void print_time(const char *name, double ns)
{
    if (ns < 1e6)
        printf("  %s %.0f µs", name, ns / 1e3);
    else if (ns < 1e9)
        printf("  %s %.2f ms", name, ns / 1e6);
    else
        printf("  %s %.2f s", name, ns / 1e9);
}

static void text_latency(const struct bench_result *r)
{
    if (!r->latency.n)
        return;
    printf("  %-12s", "latency");
    for (size_t i = 0; i < NQUANTILES; i++)
        print_time(quantiles[i].name, (double)hist_quantile(&r->latency, quantiles[i].part));
    print_time("mean", (double)r->latency.sum / (double)r->latency.n);
    printf("\n");
}

static void text_server(const struct bench_result *r)
{
    if (!r->have_cpu)
        return;
    if (r->ops)
        printf("  %-12s  %.2f µs per operation, %.2f cores\n", "server CPU", cpu_us(r),
               r->seconds > 0 ? r->cpu_s / r->seconds : 0);
    printf("  %-12s  %.1f MiB (%.1f anonymous) before, %.1f (%.1f) after, %.1f at most\n", "memory",
           mib(r->before.rss), mib(r->before.rss_anon), mib(r->after.rss), mib(r->after.rss_anon),
           mib(r->rss_peak));
}

void bench_report_text(const struct bench_result *r)
{
    printf("%s: %s\n", r->workload, r->setup);
    if (r->skipped) {
        printf("  skipped: %s\n", r->skipped);
        return;
    }
    if (r->ops)
        printf("  %-12s  %.0f/s (%llu in %.2f s), %.1f MB/s, %llu errors\n", "rate", rate(r),
               (unsigned long long)r->ops, r->seconds, (double)r->bytes / 1e6 / r->seconds,
               (unsigned long long)r->errors);
    text_latency(r);
    text_server(r);
    for (size_t i = 0; i < r->nfigures; i++)
        printf("  %-34s  %.6g %s\n", r->figures[i].name, r->figures[i].value, r->figures[i].unit);
    if (r->ops)
        printf("  %-12s  %.2f cores\n", "bench CPU", r->own_cpu_s / r->seconds);
    if (r->error[0])
        printf("  %-12s  %s\n", "first error", r->error);
    (void)fflush(stdout);
}

/* ---- for programs ---- */

static void number(struct buf *b, const char *name, double value)
{
    buf_printf(b, ",\"%s\":%.10g", name, value);
}

static void text(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, ",\"%s\":", name);
    json_print_string(b, str_of(value));
}

static void json_latency(struct buf *b, const struct bench_result *r)
{
    char sep = '{';

    if (!r->latency.n)
        return;
    buf_lit(b, ",\"latency_us\":");
    for (size_t i = 0; i < NQUANTILES; i++, sep = ',')
        buf_printf(b, "%c\"%s\":%.3f", sep, quantiles[i].name,
                   (double)hist_quantile(&r->latency, quantiles[i].part) / 1e3);
    buf_printf(b, ",\"mean\":%.3f}", (double)r->latency.sum / (double)r->latency.n / 1e3);
}

static void json_server(struct buf *b, const struct bench_result *r)
{
    if (!r->have_cpu)
        return;
    number(b, "server_cpu_s", r->cpu_s);
    if (r->ops)
        number(b, "server_cpu_us_per_op", cpu_us(r));
    number(b, "rss_before", (double)r->before.rss);
    number(b, "rss_anon_before", (double)r->before.rss_anon);
    number(b, "rss_after", (double)r->after.rss);
    number(b, "rss_anon_after", (double)r->after.rss_anon);
    number(b, "rss_peak", (double)r->rss_peak);
}

static void json_figures(struct buf *b, const struct bench_result *r)
{
    buf_lit(b, ",\"figures\":{");
    for (size_t i = 0; i < r->nfigures; i++) {
        if (i)
            buf_byte(b, ',');
        json_print_string(b, str_of(r->figures[i].name));
        buf_printf(b, ":{\"value\":%.10g,\"unit\":", r->figures[i].value);
        json_print_string(b, str_of(r->figures[i].unit));
        buf_byte(b, '}');
    }
    buf_byte(b, '}');
}

void bench_report_json(const struct bench_result *r)
{
    scoped_buf b;

    buf_init(&b, 64 << 10);
    buf_printf(&b, "{\"workload\":\"%s\"", r->workload);
    text(&b, "setup", r->setup);
    if (r->skipped)
        text(&b, "skipped", r->skipped);
    number(&b, "seconds", r->seconds);
    number(&b, "operations", (double)r->ops);
    number(&b, "errors", (double)r->errors);
    number(&b, "bytes", (double)r->bytes);
    number(&b, "rate", rate(r));
    json_latency(&b, r);
    json_server(&b, r);
    number(&b, "bench_cpu_s", r->own_cpu_s);
    json_figures(&b, r);
    if (r->error[0])
        text(&b, "first_error", r->error);
    buf_lit(&b, "}\n");
    (void)fwrite(b.p, 1, b.n, stdout);
    (void)fflush(stdout);
}
