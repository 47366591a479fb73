#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

unsigned cuzk_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

/* What CUZK_CPU leaves usable of what the processor has. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool allow_ifma = true, allow_adx = true;

static void read_env(void) {
    const char *v = getenv("CUZK_CPU");
    if (!v) return;
    allow_adx = strcmp(v, "baseline") != 0;
    allow_ifma = allow_adx && strcmp(v, "scalar") != 0;
}

bool cuzk_cpu_has_avx512_ifma(void) {
    pthread_once(&once, read_env);
    if (!allow_ifma) return false;
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

/* Not by __builtin_cpu_supports: clang 14 does not know "adx". */
bool cuzk_cpu_has_adx(void) {
    pthread_once(&once, read_env);
    if (!allow_adx) return false;
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    return (ebx >> 8 & 1) && (ebx >> 19 & 1);
#else
    return false;
#endif
}

void cuzk_cpu_name(char *out, size_t n) {
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, n, "%s", colon + 2);
        found = true;
    }
    if (f) fclose(f);
    struct utsname u;
    if (!found) snprintf(out, n, "%s", uname(&u) == 0 ? u.machine : "unknown");
}
